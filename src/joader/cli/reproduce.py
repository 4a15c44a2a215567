"""`joader reproduce`: run a figure, print it as a table, keep it as JSON, draw it."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from joader.cli.plot import check_plot_path, draw
from joader.errors import BadArgument
from joader.simulator.figures import FIGURES, Figure, Row


def list_figures() -> int:
    """Print the figures that can be rerun."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what", "source"):
        table.add_column(heading)
    for figure in FIGURES.values():
        table.add_row(figure.name, figure.title, figure.source)
    console = Console()
    console.print(table)
    console.print("\nRun one with: joader reproduce NAME [--quick] [--json FILE] [--plot FILE]")
    return 0


def reproduce(
    name: str, seed: int, quick: bool, json_path: str | None, plots: Sequence[str]
) -> int:
    """Rerun one figure; wrong arguments are found before the work starts."""
    figure = find(name)
    for path in plots:
        check_plot_path(path)
    started = time.perf_counter()
    rows = run(figure, seed, quick)
    seconds = round(time.perf_counter() - started, 3)
    # With JSON on standard output, people's output goes to the other one.
    console = Console(stderr=json_path == "-")
    console.print(as_table(figure, rows, quick))
    if json_path:
        body = {"name": name, "source": figure.source, "seed": seed, "seconds": seconds}
        text = json.dumps({**body, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
        if json_path == "-":
            sys.stdout.write(text)
        else:
            write(json_path, text)
            console.print(f"figures: {json_path}")
    for path in plots:
        draw(figure, rows, path)
        console.print(f"plot: {path}")
    return 0


def find(name: str) -> Figure:
    """Return the figure of this name, or say which there are."""
    if name in FIGURES:
        return FIGURES[name]
    near = get_close_matches(name, FIGURES, 1, 0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadArgument(
        f"there is no figure {name!r}; {hint}`joader reproduce --list` names them all"
    )


def run(figure: Figure, seed: int, quick: bool) -> list[Row]:
    """Compute the rows under a progress bar (on a terminal; silent elsewhere)."""
    columns = (TextColumn(figure.name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(figure.name, total=figure.steps(quick))
        return list(figure.rows(seed, quick, lambda: progress.advance(task)))


def as_table(figure: Figure, rows: Sequence[Row], quick: bool) -> Table:
    """Lay paper, ours and baseline side by side."""
    unit = rows[0].unit
    title = f"{figure.title} ({figure.source}{', quick' if quick else ''})"
    table = Table(title=title, caption=f"{unit}; baseline: {figure.baseline}", title_justify="left")
    table.add_column("case")
    for heading in (figure.x_label, "paper", f"ours: {figure.ours}", "baseline", "ours / baseline"):
        table.add_column(heading, justify="right")
    before = None
    for row in rows:
        if before not in (None, row.case):
            table.add_section()
        ratio = "" if not row.baseline else f"{row.ours / row.baseline:.2f}"
        table.add_row(
            row.case if row.case != before else "",
            number(row.x),
            number(row.paper),
            number(row.ours),
            number(row.baseline),
            ratio,
        )
        before = row.case
    return table


def number(value: float | None) -> str:
    """Write a number for people: thousands grouped, small ones with three digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def write(path: str, text: str) -> None:
    """Write a file, making its folder."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    except OSError as error:
        raise BadArgument(f"cannot write {path}: {error.strerror}; choose another file") from error
