"""One run of a figure, for people and programs: computed under a progress bar, kept, drawn."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from joader.cli.console import Console, write
from joader.cli.files import check_writable, write_text
from joader.cli.plot import check_plot_path
from papers.figure import Effort, Figure, Row
from papers.plot import draw


@dataclass(frozen=True)
class Run:
    """A figure with its results: its rows, how long they took, and what was fitted to what."""

    figure: Figure
    effort: Effort
    seed: int
    seconds: float
    rows: Sequence[Row]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Outputs:
    """Where a run is kept; '-' as JSON file is standard output."""

    json: str | None
    plots: Sequence[str]

    def check(self) -> None:
        """Raise before the work what would otherwise fail after it."""
        for path in self.plots:
            check_plot_path(path)
            check_writable(path)
        if self.json not in (None, "-"):
            check_writable(str(self.json))

    def console(self) -> Console:
        """Return the console for people, which is never where the JSON goes."""
        return Console(stderr=self.json == "-")

    def keep(self, run: Run, console: Console) -> None:
        """Write all files, and say so."""
        if self.json == "-":
            write(as_json(run), sys.stdout)
        elif self.json is not None:
            write_text(self.json, as_json(run))
            console.print_plain(f"figures: {self.json}")
        for path in self.plots:
            draw(run.figure, run.effort, run.rows, path)
            console.print_plain(f"plot: {path}")


def compute(figure: Figure, effort: Effort, seed: int) -> Run:
    """Compute the rows under a progress bar (on a terminal; silent elsewhere)."""
    columns = (TextColumn(figure.name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    started = time.perf_counter()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(figure.name, total=figure.steps(effort))
        rows = list(figure.rows(seed, effort, lambda: progress.advance(task)))
    seconds = round(time.perf_counter() - started, 3)
    return Run(figure, effort, seed, seconds, rows, tuple(figure.notes(effort)))


def as_json(run: Run) -> str:
    """Return the run for programs."""
    body = {
        "name": run.figure.name,
        "source": run.figure.source,
        "seed": run.seed,
        "seconds": run.seconds,
        "rows": [asdict(row) for row in run.rows],
    }
    if run.notes:
        body["notes"] = list(run.notes)
    return json.dumps(body, indent=1) + "\n"
