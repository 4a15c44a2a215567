"""Jobs and daemons under `python -O` and `-OO`, which leave out asserts, and docstrings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.conftest import Node

TWICE = """
import sys
import joader

class Rows:
    def __len__(self):
        return 40
    def __getitem__(self, row):
        return [row] * 100

for _ in range(2):
    with joader.DataLoader(Rows(), num_workers=1, deterministic=True, fallback=False) as loader:
        assert False, "asserts are left out here"
        rows = [batch[0][0] for batch in loader]
        stats = loader.stats()
        print(rows == list(range(40)), stats.delivered, stats.prepared, stats.fallback)
"""


@pytest.mark.parametrize("flag", ["-O", pytest.param("-OO", marks=pytest.mark.slow)])
def test_jobs_share_under_optimized_python(node: Node, flag: str) -> None:
    path = node.folder / "job.py"
    path.write_text(TWICE)
    done = subprocess.run(
        [sys.executable, flag, str(path)],
        env={**os.environ, "JOADER_RUNTIME": str(node.run), "JOADER_IDLE_S": "0.1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["True 40 40 0", "True 40 0 0"], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("module", ["sharing", "own_parts", "daemon_goes"])
def test_what_processes_do_is_the_same_under_optimized_python(module: str) -> None:
    """Their tests run as always; jobs and daemons are started with -O."""
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", folder / f"test_{module}.py"],
        env={**os.environ, "JOADER_TESTS_FLAGS": "-O"},
        cwd=folder.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
