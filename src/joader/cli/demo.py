"""`joader demo`: four jobs on overlapping data, simulated, in 20 seconds."""

from rich.console import Console

from joader.cli.chart import chart
from joader.cli.plot import draw
from joader.cli.reproduce import find, run
from joader.errors import MissingExtra


def demo(plot: str) -> int:
    """Show curves in the terminal, say in words what they mean, and draw them to a file."""
    console = Console()
    figure = find("joader-random4")
    console.print(
        "Four training jobs, each on another random three quarters of one dataset. "
        "How many samples have to be prepared until all have read all of theirs once?\n"
    )
    rows = run(figure, 0, quick=True)
    curves = {
        "every job alone": [(row.x, row.baseline or 0.0) for row in rows if row.case == "joader"],
        "JOADER paper's rule": [(row.x, row.ours) for row in rows if row.case == "paper's rule"],
        "joader": [(row.x, row.ours) for row in rows if row.case == "joader"],
    }
    width = max(40, min(76, console.width - 12))
    console.print(chart(curves, figure.x_label, figure.y_label, width, 16), highlight=False)
    first = next(row for row in rows if row.case == "joader")
    alone = first.baseline or 0.0
    console.print(
        "\nWith room for a single sample in the cache, joader prepares "
        f"[bold]{first.ours:,.0f}[/] samples "
        f"where jobs that load alone prepare {alone:,.0f}: {alone / first.ours:.1f} times less. "
        "Every job still reads its rows in a uniformly random order."
    )
    try:
        draw(figure, rows, plot)
        console.print(f"The same as a picture: [bold]{plot}[/]")
    except MissingExtra as error:
        console.print(f"No picture: {error}")
    console.print("More: joader reproduce --list")
    return 0
