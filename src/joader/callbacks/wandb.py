"""A loader's figures in Weights & Biases.

figures = Wandb(loader, wandb.init(...))
...
figures.log(step)
"""

from typing import Any

from joader.callbacks.scalars import Scalars


class Wandb:
    """Logs what a loader did since the last call."""

    def __init__(self, loader: Any, run: Any) -> None:
        """Log to this run."""
        self._scalars, self._run = Scalars(loader), run

    def log(self, step: int | None = None) -> None:
        """Log it for a step; without one, for the run's next."""
        self._run.log(self._scalars.take(), step=step)
