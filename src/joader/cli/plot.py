"""What every command that draws needs: matplotlib, file endings, colors."""

from pathlib import Path
from typing import Any

from joader.errors import BadArgument, MissingExtra, to_install

SUFFIXES = (".png", ".svg")
# Okabe and Ito's colors: everyone can distinguish them, even in gray.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def check_plot_path(path: str) -> None:
    """Report before the work what would go wrong minutes later."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise BadArgument(f"cannot draw {path!r}; the file name must end in .png or .svg")
    pyplot()


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files only; MissingExtra if it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtra(f"plots need matplotlib: {to_install('plots')}") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt
