"""`joader reproduce`: run a figure, print it as a table, keep it as JSON, draw it."""

import json
from dataclasses import dataclass
from difflib import get_close_matches

from rich.table import Table

from joader.cli.console import Console
from joader.errors import BadArgument, MissingExtra
from papers.every_figure import EVERY_FIGURE, OF_THE_PAPERS
from papers.figure import Effort, Figure, Row
from papers.live.live_figures import check_installed, live_figures, measured_figures
from papers.run import Outputs, Run, compute


@dataclass(frozen=True)
class Choice:
    """Which figure: simulated, or measured here; on which data; or as it was kept in a file."""

    name: str
    live: bool = False
    data: str | None = None
    kept: str | None = None


def list_figures() -> int:
    """Print the figures that can be rerun."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what", "source"):
        table.add_column(heading)
    lively, measured = live_figures(), measured_figures()
    for name, figure in {**EVERY_FIGURE, **measured}.items():
        mark = " (measured)" if name in measured else " (or --live)" if name in lively else ""
        table.add_row(name, figure.title + mark, figure.source)
    console = Console()
    console.print(table)
    usage = "joader reproduce NAME [--quick] [--json FILE] [--plot FILE]"
    console.print_plain(f"\nRun one with: {usage}")
    return 0


def reproduce(choice: Choice, seed: int, effort: Effort, outputs: Outputs) -> int:
    """Rerun one figure; wrong arguments are found before the work starts."""
    figure = find(choice)
    outputs.check()
    if choice.kept is not None:
        run = kept_run(figure, choice.kept, effort)
        _print(run, outputs)
        return 0
    if choice.live or choice.name in measured_figures():
        check_installed()
    _show(figure, seed, effort, outputs)
    return 0


def reproduce_all(seed: int, effort: Effort, data: str | None) -> int:
    """Rerun every figure of the papers, one after the other, and print each."""
    for figure in OF_THE_PAPERS.values():
        try:
            _show(figure, seed, effort, Outputs(None, ()))
        except MissingExtra as error:  # the others need nothing of it
            Outputs(None, ()).console().print_plain(f"{figure.name} is left out: {error}")
    try:
        check_installed()
    except MissingExtra as missing:  # the others need neither torch nor pictures
        Console(stderr=True).print_plain(f"left out: {', '.join(measured_figures())}; {missing}")
        return 0
    for figure in measured_figures(data).values():
        _show(figure, seed, effort, Outputs(None, ()))
    return 0


def _show(figure: Figure, seed: int, effort: Effort, outputs: Outputs) -> None:
    _print(compute(figure, effort, seed), outputs)


def _print(run: Run, outputs: Outputs) -> None:
    console = outputs.console()
    console.print(as_table(run))
    for note in run.notes:
        console.print(note, markup=False, highlight=False)
    outputs.keep(run, console)


def find(choice: Choice) -> Figure:
    """Return the figure with this name, or raise an error that says how to list them."""
    name = choice.name
    lively, measured = live_figures(), measured_figures(choice.data)
    if choice.live and name in lively:
        return lively[name]
    if choice.live and name in EVERY_FIGURE:
        raise BadArgument(f"{name} has no live form; those that have: {', '.join(lively)}")
    known = {**EVERY_FIGURE, **measured}
    if choice.data is not None and name in EVERY_FIGURE:
        raise BadArgument(
            f"{name} needs no --data; those that do: joader-accuracy, locality-accuracy"
        )
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1, 0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadArgument(
        f"there is no figure {name!r}; {hint}`joader reproduce --list` names them all"
    )


def kept_run(figure: Figure, path: str, effort: Effort) -> Run:
    """Return a run as `--json` has kept it, so that it can be drawn elsewhere."""
    try:
        with open(path, encoding="utf-8") as file:
            body = json.load(file)
        rows = [Row(**row) for row in body["rows"]]
        its, seed, seconds = body["name"], int(body["seed"]), float(body["seconds"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadArgument(
            f"--from {path!r} is not a figure that was kept with --json: {error}"
        ) from error
    if its != figure.name:
        raise BadArgument(f"--from {path!r} has figure {its!r}, not {figure.name!r}")
    return Run(figure, effort, seed, seconds, rows, tuple(body.get("notes", ())))


def as_table(run: Run) -> Table:
    """Lay paper, ours and baseline side by side."""
    figure = run.figure
    table = Table(
        title=f"{figure.title}\n{figure.scale(run.effort)}\n({figure.source})",
        caption=f"{run.rows[0].unit}; baseline: {figure.baseline}",
        title_justify="left",
    )
    table.add_column(figure.case_label, no_wrap=True)
    x_label = [figure.x_label] if figure.x_label else []  # bars have no x
    for heading in (*x_label, figure.paper_label, f"ours: {figure.ours}", "baseline"):
        table.add_column(heading, justify="right")
    table.add_column("ours / baseline", justify="right")
    # A line between cases; between panels, if each case is one row.
    single = len({row.case for row in run.rows}) == len(run.rows)
    before = None
    for row in run.rows:
        group, last = (
            (case.partition(": ")[0] if single and case else case) for case in (row.case, before)
        )
        if last not in (None, group) and (figure.panels or not single):
            table.add_section()
        table.add_row(
            row.case if row.case != before else "",
            *([number(row.x)] if x_label else []),
            number(row.paper),
            number(row.ours),
            number(row.baseline),
            f"{row.ours / row.baseline:.2f}" if row.baseline else "",
        )
        before = row.case
    return table


def number(value: float | None) -> str:
    """Write a number for people: thousands grouped, small ones with three digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
