"""A loader's figures in whatever logger a Lightning trainer has.

Trainer(callbacks=[LoaderStatistics()], logger=...)
"""

import sys
from typing import Any

from joader.callbacks.scalars import Scalars
from joader.errors import MissingExtra

try:
    # Two packages have a trainer each, which takes callbacks of its own only.
    if "pytorch_lightning" in sys.modules:
        from pytorch_lightning.callbacks import Callback
    else:
        from lightning.pytorch.callbacks import Callback
except ImportError as error:
    raise MissingExtra("this callback needs Lightning: pip install lightning") from error


class LoaderStatistics(Callback):  # type: ignore[misc]
    """Logs what the training loader did, every so many steps."""

    def __init__(self, every_n_steps: int = 50) -> None:
        """Log that often."""
        self._every = every_n_steps
        self._scalars: Scalars | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Find the loader; other loaders have no figures, and nothing is logged for them."""
        loader = trainer.train_dataloader
        self._scalars = Scalars(loader) if hasattr(loader, "stats") else None

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log, if it is time."""
        if self._scalars is not None and (trainer.global_step % self._every == 0):
            figures = self._scalars.take()
            for logger in trainer.loggers:
                logger.log_metrics(figures, step=trainer.global_step)
