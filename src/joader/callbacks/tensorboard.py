"""A loader's figures in TensorBoard.

figures = TensorBoard(loader, writer)      # a torch.utils.tensorboard.SummaryWriter
...
figures.log(step)
"""

from typing import Any

from joader.callbacks.scalars import Scalars


class TensorBoard:
    """Writes what a loader did since the last call."""

    def __init__(self, loader: Any, writer: Any) -> None:
        """Write with this SummaryWriter, or whatever has its `add_scalar`."""
        self._scalars, self._writer = Scalars(loader), writer

    def log(self, step: int) -> None:
        """Write it for a step."""
        for name, value in self._scalars.take().items():
            self._writer.add_scalar(name, value, step)
