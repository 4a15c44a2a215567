"""Figures as PNG or SVG, drawn as one would for a paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joader.errors import BadArgument, MissingExtra
from joader.simulator.figures import Figure, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
# Okabe and Ito's colours: told apart by everyone, and in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")


def check_plot_path(path: str) -> None:
    """Say early what would go wrong after minutes of work."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise BadArgument(f"cannot draw {path!r}; the file has to end in .png or .svg")
    _pyplot()


def draw(figure: Figure, rows: Sequence[Row], path: str) -> None:
    """Draw the rows of a figure to a file."""
    plt = _pyplot()
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": figure.name}):
        canvas, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
        if len({row.x for row in rows}) == 1:
            _bars(axes, figure, rows)
        else:
            _curves(axes, figure, rows)
        axes.set_ylabel(figure.y_label)
        axes.set_title(figure.title, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(bottom=0)
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            canvas.savefig(path, dpi=200, metadata={"Date": None} if path.endswith("svg") else None)
        except OSError as error:
            raise BadArgument(
                f"cannot write {path}: {error.strerror}; choose another file"
            ) from error
        finally:
            plt.close(canvas)


def _curves(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    cases = list(dict.fromkeys(row.case for row in rows))
    same_ours = len({tuple(r.ours for r in rows if r.case == case) for case in cases}) == 1
    same_base = len({tuple(r.baseline for r in rows if r.case == case) for case in cases}) == 1
    for place, case in enumerate(cases):
        part = [row for row in rows if row.case == case]
        x = [row.x for row in part]
        style: dict[str, Any] = {"color": COLOURS[place], "marker": MARKS[place], "markersize": 4}
        if not same_ours or place == 0:
            ours_style = {**style, "color": "black", "marker": "x"} if same_ours else style
            label = figure.ours if same_ours else f"{figure.ours}, {case}"
            label = case if case == figure.ours else label
            axes.plot(x, [row.ours for row in part], "-", label=label, **ours_style)
        base = [(row.x, row.baseline) for row in part if row.baseline is not None]
        if base and (not same_base or place == 0):
            base_style = {**style, "color": "0.55", "marker": "."} if same_base else style
            label = (
                figure.baseline
                if same_base
                else (case if same_ours else f"{figure.baseline}, {case}")
            )
            axes.plot(*zip(*base, strict=True), "--", alpha=0.8, label=label, **base_style)
        paper = [(row.x, row.paper) for row in part if row.paper is not None]
        if paper and not same_ours:
            axes.plot(
                *zip(*paper, strict=True), "*", color=COLOURS[place], markersize=9, mfc="none",
                label="paper" if place == len(cases) - 1 else None,
            )  # fmt: skip
    axes.set_xlabel(figure.x_label)
    axes.legend(frameon=False, fontsize=7)
    axes.grid(axis="y", color="0.92")


def _bars(axes: "Axes", figure: Figure, rows: Sequence[Row]) -> None:
    names = ("paper", figure.ours, figure.baseline)
    for place, name in enumerate(names):
        values = [(row.paper, row.ours, row.baseline)[place] or 0.0 for row in rows]
        at = [number + (place - 1) * 0.27 for number in range(len(rows))]
        bars = axes.bar(at, values, 0.25, label=name, color=("0.75", *COLOURS)[place])
        axes.bar_label(bars, [f"{value:.3g}" if value else "" for value in values], fontsize=7)
    axes.set_xticks(range(len(rows)), [row.case for row in rows])
    axes.legend(frameon=False, fontsize=7)


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtra("plots need matplotlib: pip install 'joader[plots]'") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt
