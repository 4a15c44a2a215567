"""torch's own loader inside ours, for what cannot be shared sample by sample.

An `IterableDataset` is read from front to end; a dataset with `__getitems__` gives whole batches,
whose values may depend on what comes together; keys of a sampler may be anything but row numbers.
Nothing of that could be drawn or prepared once for several jobs, so it is loaded as torch would
load it, with the user's workers, and said once.
"""

import logging
from collections.abc import Iterator
from typing import Any

from joader.client import torch_api
from joader.errors import BadArgument

log = logging.getLogger("joader")


# Arguments that torch's loader gets as our loader shows them.
_SAME = (
    *("dataset", "num_workers", "pin_memory", "worker_init_fn", "generator", "prefetch_factor"),
    *("persistent_workers", "timeout"),
)


class Inside:
    """A torch loader with the arguments of ours."""

    def __init__(
        self,
        reason: str,
        ours: Any,
        *,
        sampler: Any,
        batch_sampler: Any,
        shuffle: bool,
        collate_fn: Any,
    ) -> None:
        """Make it, with the samplers as the user gave them; torch's errors are its own."""
        if torch_api.loaded() is None:
            raise BadArgument(
                f"{reason}; only torch's loader can read that, and torch is not loaded"
            )
        arguments = {name: getattr(ours, name) for name in _SAME}
        arguments |= {"sampler": sampler, "batch_sampler": batch_sampler, "collate_fn": collate_fn}
        if ours.num_workers:  # torch refuses it otherwise, and num_workers may have been set to 0
            arguments["multiprocessing_context"] = ours.multiprocessing_context
        if batch_sampler is None:  # which excludes these
            arguments |= {"batch_size": ours.batch_size, "drop_last": ours.drop_last}
            arguments["shuffle"] = shuffle or None
        self.loader = torch_api.original_loader()(**arguments)
        self._reason = reason
        self._said = False

    def __len__(self) -> int:
        """Return the number of batches of a pass."""
        return len(self.loader)

    def begin(self, count: Any) -> "InsidePass":
        """Begin a pass; `count` is told how many samples each batch has."""
        if not self._said:
            self._said = True
            log.warning(
                "%s, so it is not shared with other jobs: torch's own loader reads it, inside this "
                "job, with num_workers=%d",
                *(self._reason, self.loader.num_workers),
            )
        return InsidePass(iter(self.loader), self.loader, count)


class InsidePass:
    """An iterator over the batches of torch's loader."""

    def __init__(self, batches: Iterator[Any], loader: Any, count: Any) -> None:
        """Pass on these batches."""
        self._batches, self._loader, self._count = batches, loader, count

    def __iter__(self) -> "InsidePass":
        """Return itself."""
        return self

    def __next__(self) -> Any:
        """Return the next batch."""
        batch = next(self._batches)
        self._count(_size(batch) if self._loader.batch_sampler is not None else 1)
        return batch

    def __len__(self) -> int:
        """Return the number of batches of a pass."""
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        """Show what torch's iterator has, such as `_workers`: libraries look there."""
        if name == "_batches":  # not set yet
            raise AttributeError(name)
        return getattr(self._batches, name)


def _size(batch: Any) -> int:
    """Return how many samples a batch has, as far as it tells."""
    while isinstance(batch, dict) and batch:
        batch = next(iter(batch.values()))
    while isinstance(batch, tuple | list) and batch and hasattr(batch[0], "__len__"):
        if isinstance(batch[0], str | bytes):
            break
        batch = batch[0]
    try:
        return len(batch)
    except TypeError:
        return 1
