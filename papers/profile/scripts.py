"""Profiles a training script: its rows with 1, 2, … workers, and what a daemon learns of it.

The daemon is one of its own, and ends soon after; what it learned lies where the user's daemons
find it, so the next run of the script starts with its recipe known.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from joader.daemon.experience_file import experience_path
from joader.errors import BadArgument, Overdue, WorldError
from papers.models.runs import LoadingRun

_PATIENCE_S = 180.0  # for a script's imports, and its first batch
_LEARNS_S = 5.0
_ENDS_S = 15.0


def load(
    script: str, arguments: Sequence[str], workers: list[int], seconds: float
) -> list[LoadingRun]:
    """Return what so many workers read of the first dataset that a script iterates over."""
    if not Path(script).is_file():
        raise BadArgument(f"there is no script {script!r}")
    with TemporaryDirectory(prefix="joader-profile-") as folder:
        report = Path(folder) / "report"
        counts = ",".join(map(str, workers))
        command = ["papers.profile.probe", str(report), counts, str(seconds)]
        _run([*command, script, *arguments], folder, _PATIENCE_S + 3 * seconds * len(workers))
        return msgspec.json.decode(report.read_bytes(), type=list[LoadingRun])


def teach(script: str, arguments: Sequence[str]) -> bool:
    """Let a daemon learn the script's recipe; return whether it has."""
    path = experience_path()
    before = _stamp(path)
    with TemporaryDirectory(prefix="joader-profile-") as folder:
        command = ["joader.cli.bench.probe", "joader", str(_LEARNS_S), f"{folder}/report"]
        _run([*command, script, *arguments], folder, _PATIENCE_S + _LEARNS_S)
        until = time.monotonic() + _ENDS_S
        while _stamp(path) == before and time.monotonic() < until:
            time.sleep(0.1)
    return _stamp(path) != before


def _run(command: list[str], folder: str, timeout_s: float) -> None:
    own = {"JOADER_RUNTIME": f"{folder}/run", "JOADER_IDLE_S": "1", "JOADER_QUIET": "1"}
    ours = {name: value for name, value in os.environ.items() if name != "JOADER_ADDRESS"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            env={**ours, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Overdue(
            f"nothing was measured within {timeout_s:.0f} s; does the script iterate over a "
            "DataLoader?"
        ) from error
    if done.returncode:
        tail = "\n  ".join(done.stderr.strip().splitlines()[-3:])
        raise WorldError(
            f"the script could not be measured (exit code {done.returncode}):\n  {tail}"
        )


def _stamp(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0
