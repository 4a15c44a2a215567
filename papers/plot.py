"""Figures as PNG or SVG, drawn as for a paper.

The color shows the case; a solid line is ours, a dashed one the baseline, a star what the paper
reports (or expects). A curve that all cases share is drawn once, in black or gray.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from joader.cli.files import save_figure
from joader.cli.plot import COLOURS, pyplot
from papers.figure import Effort, Figure, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = ("o", "s", "^", "D", "v", "P")
OURS: dict[str, Any] = {"color": "black", "linestyle": "-", "linewidth": 1.4, "markersize": 4}
BASELINE: dict[str, Any] = {**OURS, "color": "0.5", "linestyle": (0, (4, 2)), "linewidth": 1.0}
PAPER: dict[str, Any] = {
    "color": "black",
    "linestyle": "none",
    "marker": "*",
    "markersize": 8,
    "markerfacecolor": "none",
    "markeredgewidth": 0.8,
    "zorder": 5,
}


def draw(figure: Figure, effort: Effort, rows: Sequence[Row], path: str) -> None:
    """Draw the rows of a figure to a file."""
    plt = pyplot()
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": figure.name}):
        if figure.panels:
            canvas = _panels(plt, figure, effort, rows)
        else:
            canvas, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
            _one(axes, figure, rows)
            axes.set_title(f"{figure.title}\n", loc="left", fontsize=10)
            where = {"transform": axes.transAxes, "fontsize": 8, "color": "0.4"}
            axes.text(0, 1.02, figure.scale(effort), **where)
        try:
            save_figure(canvas, path)
        finally:
            plt.close(canvas)


def _one(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    """Draw one plot with its axes."""
    if len({row.x for row in rows}) == 1:
        _bars(axes, figure, rows)
    else:
        _curves(axes, figure, rows)
    axes.set_ylabel(figure.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    lowest = min((value for row in rows for value in (row.paper, row.ours) if value), default=0)
    if lowest < 0:  # differences
        axes.axhline(0, color="black", linewidth=0.8)
    elif "y" not in figure.log:
        axes.set_ylim(bottom=0)


def _panels(plt: Any, figure: Figure, effort: Effort, rows: Sequence[Row]) -> Any:
    """Draw the panels side by side, in rows of three, or of two if there are four."""
    columns = 2 if len(figure.panels) in (2, 4) else 3
    lines = -(-len(figure.panels) // columns)
    size = (10.5 if columns == 3 else 9.0, 3.2 * lines)
    canvas, grid = plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)
    for axes, (panel, label) in zip(grid.flat, figure.panels.items(), strict=False):
        part = [
            replace(row, case=row.case.removeprefix(f"{panel}: "))
            for row in rows
            if row.case.startswith(f"{panel}: ")
        ]
        _one(axes, figure, part)
        axes.set_xlabel(label)
        axes.set_ylabel(part[0].unit if part else figure.y_label)
        if len({row.x for row in part}) == 1:  # bars, which have scales of their own
            continue
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        if figure.log:
            _logarithmic(axes, figure, part)
        elif part and max(row.x for row in part) >= 100 * min(row.x for row in part if row.x):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        values = [value for row in part for value in (row.ours, row.baseline) if value]
        tall = max(values, default=0)
        if (
            tall > max(10, 20 * min(values, default=0)) and not figure.log
        ):  # χ² of orders that are no reshuffles
            axes.set_yscale("log")
            axes.set_ylim(0.3, 3 * tall)
    for axes in grid.flat[len(figure.panels) :]:
        axes.set_visible(False)
    canvas.suptitle(f"{figure.title} ({figure.scale(effort)})", x=0.01, ha="left", fontsize=10)
    return canvas


def _curves(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    by_case: dict[str, list[Row]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    shared = next(iter(by_case.values()))
    if figure.varies == "baseline":
        axes.plot(*_points(shared, "ours"), **OURS, marker="x", label=figure.ours)
    if figure.varies == "ours" and any(row.baseline is not None for row in shared):
        axes.plot(*_points(shared, "baseline"), **BASELINE, marker=".", label=figure.baseline)
    for (case, part), colour, mark in zip(by_case.items(), COLOURS, MARKS, strict=False):
        own: dict[str, Any] = {"color": colour, "marker": mark, "label": case}
        if figure.varies == "sets":  # two curves, one name: colour and mark, no line
            label = case if figure.panels else f"{figure.case_label}: {case}"
            axes.plot([], [], linestyle="none", **{**own, "label": label})
            own["label"] = None
        if figure.varies != "baseline":
            axes.plot(*_points(part, "ours"), **{**OURS, **own})
        if figure.varies != "ours":
            axes.plot(*_points(part, "baseline"), **{**BASELINE, **own})
    if figure.varies == "sets":
        axes.plot([], [], **OURS, label=figure.ours)
        axes.plot([], [], **{**BASELINE, "color": "black"}, label=figure.baseline)
    if any(row.paper is not None for row in rows):
        axes.plot(*_points(rows, "paper"), **PAPER, label=figure.paper_label)
    axes.set_xlabel(figure.x_label)
    # Nine digits: thousands are grouped, and what is not whole is not rounded.
    axes.xaxis.set_major_formatter("{x:,.9g}")
    axes.yaxis.set_major_formatter("{x:,.9g}")
    if all(row.x == int(row.x) for row in rows):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    _logarithmic(axes, figure, rows)
    axes.legend(frameon=False, fontsize=8)


def _logarithmic(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    """Make the axes logarithmic that the figure names; x has a tick for each value."""
    if "x" in figure.log:
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted({row.x for row in rows}))
        axes.xaxis.set_major_formatter("{x:,.9g}")
        axes.minorticks_off()
    if "y" in figure.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,.9g}")
        axes.yaxis.set_minor_formatter("")


def _points(rows: Sequence[Row], column: str) -> tuple[list[float], list[float]]:
    """Return x and y of the rows that have a value in this column."""
    found = [(row.x, getattr(row, column)) for row in rows if getattr(row, column) is not None]
    return [x for x, _ in found], [y for _, y in found]


def _bars(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    """Draw a group of bars for each case; a baseline that all share is a line."""
    columns = {"paper": figure.paper_label, "ours": figure.ours, "baseline": figure.baseline}
    level = rows[0].baseline
    if level is not None and len(rows) > 1 and all(row.baseline == level for row in rows):
        line = {key: BASELINE[key] for key in ("color", "linestyle", "linewidth")}
        axes.axhline(level, **line, label=columns.pop("baseline"))
    colours = dict(zip(columns, ("0.75", *COLOURS), strict=False))
    # What has no value takes no room.
    columns = {
        column: name
        for column, name in columns.items()
        if any(getattr(row, column) is not None for row in rows)
    }
    for place, (column, name) in enumerate(columns.items()):
        bars = [(at, getattr(row, column)) for at, row in enumerate(rows)]
        middle = (len(columns) - 1) / 2
        width = 0.8 / len(columns)
        found = [(at + (place - middle) * width, value) for at, value in bars if value is not None]
        if found:
            x, heights = zip(*found, strict=True)
            drawn = axes.bar(x, heights, 0.93 * width, label=name, color=colours[column])
            labels = [f"{height:,.0f}" if height >= 100 else f"{height:.3g}" for height in heights]
            axes.bar_label(drawn, labels, fontsize=7 if len(rows) <= 4 else 6)
    axes.set_xticks(range(len(rows)), [row.case for row in rows])
    if len(rows) > 4:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_ylim(top=1.3 * max(axes.get_ylim()))  # for the legend
    axes.legend(frameon=False, fontsize=8, ncols=2)
