"""`joader reproduce`: run a figure, print it as a table, keep it as JSON, draw it."""

from difflib import get_close_matches

from rich.table import Table

from joader.cli.console import Console
from joader.cli.run import Outputs, Run, compute
from joader.errors import BadArgument, MissingExtra
from joader.simulator.every_figure import EVERY_FIGURE, OF_THE_PAPERS
from joader.simulator.figures import Effort, Figure


def list_figures() -> int:
    """Print the figures that can be rerun."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what", "source"):
        table.add_column(heading)
    for figure in EVERY_FIGURE.values():
        table.add_row(figure.name, figure.title, figure.source)
    console = Console()
    console.print(table)
    usage = "joader reproduce NAME [--quick] [--json FILE] [--plot FILE]"
    console.print_plain(f"\nRun one with: {usage}")
    return 0


def reproduce(name: str, seed: int, effort: Effort, outputs: Outputs) -> int:
    """Rerun one figure; wrong arguments are found before the work starts."""
    figure = find(name)
    outputs.check()
    _show(figure, seed, effort, outputs)
    return 0


def reproduce_all(seed: int, effort: Effort) -> int:
    """Rerun every figure of the papers, one after the other, and print each."""
    for figure in OF_THE_PAPERS.values():
        try:
            _show(figure, seed, effort, Outputs(None, ()))
        except MissingExtra as error:  # the others need nothing of it
            Outputs(None, ()).console().print_plain(f"{figure.name} is left out: {error}")
    return 0


def _show(figure: Figure, seed: int, effort: Effort, outputs: Outputs) -> None:
    run = compute(figure, effort, seed)
    console = outputs.console()
    console.print(as_table(run))
    for note in figure.notes(effort):
        console.print(note, markup=False, highlight=False)
    outputs.keep(run, console)


def find(name: str) -> Figure:
    """Return the figure with this name, or raise an error that says how to list them."""
    if name in EVERY_FIGURE:
        return EVERY_FIGURE[name]
    near = get_close_matches(name, EVERY_FIGURE, 1, 0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadArgument(
        f"there is no figure {name!r}; {hint}`joader reproduce --list` names them all"
    )


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
