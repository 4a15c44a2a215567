"""How a loader makes its batches, as it is set now: collated, pinned, transformed.

It is made anew for each batch: users may set a loader's `collate_fn`, `pin_memory`, `as_numpy` and
`batch_transform` at any time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joader.client import torch_api
from joader.client.reading import collate
from joader.client.reading.collate import Collation, Joins, Samples, Slots


@dataclass(frozen=True)
class BatchMaker:
    """What makes a batch of slots, or of samples."""

    collation: Collation
    pin: bool
    lend: Callable[[int], Any]  # gives memory of so many bytes for a batch
    transform: Callable[[Any], Any] | None

    def collated(self, whole: Slots | Samples, joined: Joins | None) -> Any:
        """Copy a batch out of shared memory, or make it of samples.

        `joined` puts further columns beside it.
        """
        pin = self.pin and torch_api.can_pin()
        if isinstance(whole, Samples):
            data, is_pinned = collate.make(whole, self.collation, joined), False
        else:
            # Gathered into pinned memory at once: to pin a batch later is one more copy.
            allocate = torch_api.pinned_bytes if pin else self.lend
            data, is_pinned = collate.copy(whole, self.collation, allocate, joined)
        return torch_api.pinned(data) if pin and not is_pinned else data

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self.transform(data) if self.transform else data
