"""Scripts that run with a daemon of their own."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes.conftest import Node
from tests.warm import process as warm


@pytest.fixture
def joader_script(tmp_path: Path) -> Iterator[Callable[..., str]]:
    node = Node(tmp_path)
    node.up()

    def run(script: str, *arguments: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(script)
        done = warm.run(
            [sys.executable, str(path), *arguments],
            env={**os.environ, "JOADER_RUNTIME": str(node.run)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            torch=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    node.down()
