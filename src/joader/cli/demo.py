"""`joader demo`: four jobs on overlapping data, simulated, in about ten seconds."""

from joader.cli.chart import chart
from joader.cli.console import Console
from joader.cli.run import Outputs, Run, compute
from joader.errors import MissingExtra
from joader.simulator.appendix import RANDOM4
from joader.simulator.figures import DEMO


def demo(outputs: Outputs) -> int:
    """Show curves in the terminal, say in words what they mean, and draw them to a file."""
    console = outputs.console()
    try:
        outputs.check()
        no_picture = None
    except MissingExtra as error:  # the curves in the terminal do without
        outputs, no_picture = Outputs(outputs.json, []), str(error)
        outputs.check()
    console.print(
        "Four training jobs, each on another random three quarters of one dataset. "
        "How many samples have to be prepared until all have read all of theirs once?\n"
    )
    run = compute(RANDOM4, DEMO, 0)
    show(run, console)
    outputs.keep(run, console)
    if no_picture is not None:
        console.print_plain(f"No picture: {no_picture}")
    console.print("More: joader reproduce --list")
    return 0


def show(run: Run, console: Console) -> None:
    """Print the curves, and the first point of each in words."""
    ours = [row for row in run.rows if row.case == "joader"]
    paper = [row for row in run.rows if row.case == "paper's rule"]
    curves = {
        "every job alone": [(row.x, row.baseline or 0.0) for row in ours],
        "JOADER paper's rule": [(row.x, row.ours) for row in paper],
        "joader": [(row.x, row.ours) for row in ours],
    }
    width = max(40, min(76, console.width - 12))
    text = chart(curves, run.figure.x_label, run.figure.y_label, width, 16)
    console.print(text, highlight=False)
    alone, joint = ours[0].baseline or 0.0, ours[0].ours
    console.print(
        f"\nWith room for a single sample in the cache, joader prepares [bold]{joint:,.0f}[/] "
        f"samples where jobs that load alone prepare {alone:,.0f}: {alone / joint:.1f} times "
        "less. Every job still reads its rows in a uniformly random order."
    )
