"""Which figures are measured: those that only a real machine can give, and live forms of others."""

from importlib.util import find_spec

from joader.errors import MissingExtra, to_install
from papers.figure import Figure
from papers.live import joader_accuracy, joader_live, locality_accuracy, threads


def check_installed() -> None:
    """Raise if what real jobs need is not installed."""
    missing = [name for name in ("torch", "PIL") if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"figures that are measured need {' and '.join(missing)}: "
            f"{to_install('torch', 'images')}"
        )


def measured_figures(data: str | None = None) -> dict[str, Figure]:
    """Return the figures that have no simulated form; `data` is a folder with CIFAR-10."""
    figures = (
        threads.lobster_threads(),
        threads.locality_threads(),
        joader_accuracy.figure(data),
        locality_accuracy.figure(data),
    )
    return {figure.name: figure for figure in figures}


def live_figures() -> dict[str, Figure]:
    """Return the live forms of figures that are simulated otherwise, with real jobs."""
    return {figure.name: figure for figure in joader_live.figures()}
