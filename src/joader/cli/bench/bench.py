"""Measures a script or a dataset in each way, and says what follows."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.table import Table

from joader.catalog import open_table
from joader.cli.bench.verdict import Loader, Rates, in_words, together, verdict
from joader.cli.console import Console, write
from joader.cli.words import printable
from joader.errors import BadArgument, MissingExtra, Overdue, WorldError, to_install
from joader.storage import open_storage

_PATIENCE_S = 180.0  # for a script's imports, and its first batches
_MODES = ("synthetic", "cached", "fresh", "joader")
_WORDS = {
    "synthetic": "one batch again and again",
    "cached": "the same rows again and again",
    "fresh": "as it is",
    "joader": "as it is, with joader's loader",
}
# What a script is run for; in one process, so that it is imported and warmed up once.
_RUNS = ("fresh,cached,synthetic", "joader")


@dataclass(frozen=True)
class Target:
    """What is measured."""

    script: str
    arguments: tuple[str, ...]
    trains: bool  # it has a training step
    data: tuple[str, ...]  # files that are to be read from disk, not from the page cache


@dataclass(frozen=True)
class Report:
    """What a run has found of a script's loaders."""

    loaders: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # datasets of those that are too many


def bench(what: str, arguments: list[str], seconds: float, data: list[str], as_json: bool) -> int:
    """Answer whether data is the bottleneck, and what joader would give."""
    if find_spec("torch") is None:
        raise MissingExtra(f"bench needs torch: {to_install('torch')}")
    target = _target(what, arguments, data)
    console = Console(stderr=as_json, highlight=False)
    found: list[Report] = []
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        for run in _RUNS:
            modes = run if target.trains else run.removesuffix(",synthetic")
            with console.status(
                f"measuring {', '.join(_WORDS[mode] for mode in modes.split(','))}"
            ):
                found.append(_measure(target, modes, seconds, Path(folder), console))
    loaders = _loaders(*(one.loaders for one in found))
    left_out = list(dict.fromkeys(name for one in found for name in one.left_out))
    if not loaders:
        raise WorldError(f"{what} could not be measured; see above")
    rates = together(loaders)
    said = verdict(rates)
    if as_json:
        each = [{**asdict(one), "verdict": asdict(verdict(one.rates))} for one in loaders]
        figures = {
            "target": what,
            "rates": asdict(rates),
            "verdict": asdict(said),
            "loaders": each,
            "left_out": left_out,
        }
        write(json.dumps(figures) + "\n", sys.stdout)
        return 0
    console.print(_table(loaders, rates))
    for line in in_words(rates, said, loaders, left_out):
        console.print(f"\n{line}", markup=False)
    return 0


def _loaders(with_torch: list[dict[str, Any]], with_joader: list[dict[str, Any]]) -> list[Loader]:
    """Put together what was found of each loader; they come in the same order in both runs."""
    found = []
    for number, one in enumerate(with_torch):
        same = with_joader[number] if number < len(with_joader) else {}
        ours = same.get("rates", {}) if same.get("name") == one["name"] else {}
        found.append(Loader(one["name"], one["rows"], Rates(**{**one["rates"], **ours})))
    return found


def _table(loaders: list[Loader], rates: Rates) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("samples/s")
    columns = [(printable(one.name), one.rates) for one in loaders]
    if len(loaders) > 1:
        columns.append(("all", rates))
    for name, _ in columns:
        table.add_column(name if len(loaders) > 1 else "", justify="right")
    for mode in _MODES:
        figures = [getattr(its, mode) for _, its in columns]
        if any(figure is not None for figure in figures):
            cells = ["-" if figure is None else f"{figure:,.0f}" for figure in figures]
            table.add_row(_WORDS[mode], *cells)
    return table


def _target(what: str, arguments: list[str], data: list[str]) -> Target:
    missing = [path for path in data if not os.path.exists(path)]
    if missing:
        raise BadArgument(f"--data {missing[0]!r} does not exist; name files or folders")
    if what.endswith(".py"):
        if not Path(what).is_file():
            raise BadArgument(f"there is no script {what!r} in {os.getcwd()}; check the path")
        return Target(what, tuple(arguments), True, tuple(data))
    here = [what] if os.path.exists(what) else []
    # Opened once here, as a process that measures it could only say so with a traceback.
    if here:
        open_storage(what)
    else:
        open_table(what)
    place = os.path.abspath(what) if here else what
    reading = str(Path(__file__).with_name("reading.py"))  # not imported: it loads torch
    return Target(reading, (place,), False, (*data, *here))


def _measure(target: Target, modes: str, seconds: float, folder: Path, console: Console) -> Report:
    """Return what was found of each loader; nothing, with the reason printed, if none could be."""
    for path in target.data:
        forget_pages(Path(path))
    report, log = folder / f"{modes}.json", folder / f"{modes}.log"
    command = ["-m", "joader.cli.bench.probe", modes, str(seconds), str(report)]
    # A daemon of its own: the user's is neither disturbed nor of help. It ends soon after.
    own = {"JOADER_RUNTIME": str(folder / "run"), "JOADER_IDLE_S": "1", "JOADER_QUIET": "1"}
    ours = {name: value for name, value in os.environ.items() if name != "JOADER_ADDRESS"}
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                [sys.executable, *command, target.script, *target.arguments],
                env={**ours, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_PATIENCE_S + 10 * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Overdue(
                f"no batch was measured within {error.timeout:.0f} s ({modes}); does the script "
                "iterate over a DataLoader?"
            ) from error
    found = Report(**json.loads(report.read_text())) if report.exists() else Report()
    if done.returncode == 0 and found.loaders:
        return found
    tail = log.read_text(errors="replace").strip().splitlines()[-3:]
    console.print_plain(f"{modes}: not measured (exit code {done.returncode})")
    for line in tail:
        console.print_plain(f"  {line}")
    return Report()


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
