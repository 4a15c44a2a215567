"""Measures a script or a dataset in each mode, one after the other, and says what follows."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.table import Table

from joader.cli.bench.probe import MODES
from joader.cli.bench.verdict import Rates, in_words, verdict
from joader.cli.console import Console, write
from joader.errors import BadArgument, MissingExtra, Overdue, WorldError

_PATIENCE_S = 180.0  # for a script's imports, and its first batch
_WORDS = {
    "synthetic": "one batch again and again",
    "cached": "the same rows again and again",
    "fresh": "as it is",
    "joader": "as it is, with joader's loader",
}


@dataclass(frozen=True)
class Target:
    """What is measured."""

    script: str
    arguments: tuple[str, ...]
    trains: bool  # it has a training step
    data: tuple[str, ...]  # files that are to be read from disk, not from the page cache


def bench(what: str, arguments: list[str], seconds: float, data: list[str], as_json: bool) -> int:
    """Answer whether data is the bottleneck, and what joader would give."""
    if find_spec("torch") is None:
        raise MissingExtra("bench needs torch: pip install 'joader[torch]'")
    if not 0 < seconds < float("inf"):
        raise BadArgument(f"--seconds={seconds} is not a time; use 5, for example")
    target = _target(what, arguments, data)
    console = Console(stderr=as_json, highlight=False)
    modes = [mode for mode in MODES if target.trains or mode != "synthetic"]
    found: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        for mode in modes:
            with console.status(f"measuring {_WORDS[mode]} ({mode})"):
                found[mode] = _measure(target, mode, seconds, Path(folder), console)
    fresh = found["fresh"]
    if fresh is None:
        raise WorldError(f"{what} could not be measured; see above")
    rates = Rates(fresh, found["cached"], found.get("synthetic"), found["joader"])
    said = verdict(rates)
    if as_json:
        figures = {"target": what, "rates": asdict(rates), "verdict": asdict(said)}
        write(json.dumps(figures) + "\n", sys.stdout)
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("measured")
    table.add_column("samples/s", justify="right")
    for mode in modes:
        rate = found[mode]
        table.add_row(_WORDS[mode], "-" if rate is None else f"{rate:,.0f}")
    console.print(table)
    for line in in_words(rates, said):
        console.print(f"\n{line}")
    return 0


def _target(what: str, arguments: list[str], data: list[str]) -> Target:
    missing = [path for path in data if not os.path.exists(path)]
    if missing:
        raise BadArgument(f"--data {missing[0]!r} does not exist; name files or folders")
    if what.endswith(".py"):
        if not Path(what).is_file():
            raise BadArgument(f"there is no script {what!r}")
        return Target(what, tuple(arguments), True, tuple(data))
    here = [what] if os.path.exists(what) else []
    place = os.path.abspath(what) if here else what
    reading = str(Path(__file__).with_name("reading.py"))  # not imported: it loads torch
    return Target(reading, (place,), False, (*data, *here))


def _measure(
    target: Target, mode: str, seconds: float, folder: Path, console: Console
) -> float | None:
    """Return samples per second in a mode; None, with the reason printed, if it cannot be."""
    if mode in ("fresh", "joader"):
        for path in target.data:
            forget_pages(Path(path))
    report, log = folder / f"{mode}.json", folder / f"{mode}.log"
    command = ["-m", "joader.cli.bench.probe", mode, str(seconds), str(report)]
    # A daemon of its own: the user's is neither disturbed nor of help. It ends soon after.
    own = {"JOADER_RUNTIME": str(folder / mode), "JOADER_IDLE_S": "1", "JOADER_QUIET": "1"}
    ours = {name: value for name, value in os.environ.items() if name != "JOADER_ADDRESS"}
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                [sys.executable, *command, target.script, *target.arguments],
                env={**ours, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_PATIENCE_S + seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Overdue(
                f"no batch was measured within {error.timeout:.0f} s ({mode}); does the script "
                "iterate over a DataLoader?"
            ) from error
    if done.returncode == 0 and report.exists():
        figures = json.loads(report.read_text())
        return float(figures["samples"]) / float(figures["seconds"])
    tail = log.read_text(errors="replace").strip().splitlines()[-3:]
    console.print_plain(f"{mode}: not measured (exit code {done.returncode})")
    for line in tail:
        console.print_plain(f"  {line}")
    return None


def forget_pages(path: Path) -> None:
    """Have a file, or all files of a folder, read from disk the next time."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    for one in files:
        with suppress(OSError):
            descriptor = os.open(one, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
