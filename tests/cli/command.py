"""The `joader` command in a process of its own, as a person would run it."""

import subprocess
import sys
from pathlib import Path

from tests.warm import process as warm

JOADER = f"{sys.executable} -m joader.cli.main"


def joader(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return _run([*JOADER.split(), *arguments], cwd)


def bash(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return _run(["bash", "-c", script], cwd)


def _run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run(command, cwd=cwd, capture_output=True, text=True, check=False)
