"""A batch, copied out of shared memory and collated: nothing of it is shared with anyone.

Where the user leaves collating to torch, or to us, a batch is one native gather from its slots. A
`collate_fn` gets private copies of the samples.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_loader
from joader.memory import Layout, gather, read


class Slots(NamedTuple):
    """Where the samples of a batch lie, and how."""

    layouts: list[Layout]
    memory: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]  # of the dataset


class Joins(Protocol):
    """What puts further columns beside those that came from the daemon."""

    def batch(self, data: Any, rows: NDArray[np.int64], as_numpy: bool) -> Any:
        """Return a batch with them."""
        ...

    def samples(self, samples: Any, rows: NDArray[np.int64]) -> list[Any]:
        """Return samples with them."""
        ...


def copy(
    slots: Slots,
    collate_fn: Callable[[Any], Any] | None,
    singly: bool,
    as_numpy: bool,
    allocate: Callable[[int], Any],
    joined: Joins | None = None,
) -> tuple[Any, bool]:
    """Return the batch, and whether it lies in what `allocate` gave.

    `joined`: what puts further columns beside the samples' own.
    """
    layouts, memory, offsets, rows = slots
    usual = collate_fn is None or collate_fn is torch_loader.collate_of(singly)
    if usual and not singly:
        copied = gather(
            layouts,
            memory,
            offsets,
            tensors=False if as_numpy else None,
            allocate=allocate,
            allow_pickle=True,
        )
        if copied.collated and joined is not None:
            return joined.batch(copied.data, rows, as_numpy), False
        if copied.collated:
            return copied.data, True
        samples = copied.data
    else:
        samples = [
            read(layout, memory[offset:], allow_pickle=True)
            for layout, offset in zip(layouts, offsets.tolist(), strict=True)
        ]
    if joined is not None:
        samples = joined.samples(samples, rows)
    data = samples[0] if singly else samples
    if collate_fn is not None and not usual:
        return collate_fn(data), False
    if as_numpy:
        return data, False
    return (torch_loader.convert if singly else torch_loader.collate)(data), False
