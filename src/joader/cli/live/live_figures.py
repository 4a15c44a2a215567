"""Which figures are measured: those that only a real machine can give, and live forms of others."""

from joader.cli.live import joader_accuracy, joader_live, locality_accuracy, threads
from joader.simulator.figures import Figure


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
