"""A batch, copied out of shared memory and collated: nothing of it is shared with anyone.

Where the user leaves collating to torch, or to us, a batch is one native gather from its slots. A
`collate_fn` gets private copies of the samples.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_api
from joader.memory import Layout, gather, pack, read
from joader.memory.layout import LINE_BYTES
from joader.messages import Deliver


class Slots(NamedTuple):
    """Where the samples of a batch lie, and how."""

    layouts: list[Layout]
    memory: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]  # of the dataset


class Samples(NamedTuple):
    """The samples of a batch as objects, of which some were read by the job itself."""

    samples: list[Any]
    rows: NDArray[np.int64]


class Joins(Protocol):
    """What puts further columns beside those that came from the daemon."""

    def batch(self, data: Any, rows: NDArray[np.int64], as_numpy: bool) -> Any:
        """Return a batch with them."""
        ...

    def samples(self, samples: Any, rows: NDArray[np.int64]) -> list[Any]:
        """Return samples with them."""
        ...


def samples_of(layouts: list[Layout], memory: NDArray[np.uint8], batch: Deliver) -> dict[int, Any]:
    """Return private copies of the samples that a batch brings, by their place in it."""
    size = len(batch.positions)
    absent = set(batch.absent.tolist())
    failed = {position for position, _ in batch.failed}
    positions = batch.positions.tolist()
    here = [n for n in range(size) if n not in absent and positions[n] not in failed]
    offsets = batch.offsets.tolist()
    return {
        place: read(layout, memory[offset:], allow_pickle=True)
        for place, layout, offset in zip(here, layouts, offsets, strict=True)
    }


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
    usual = collate_fn is None or collate_fn is torch_api.collate_of(singly)
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
    return _collated(samples, rows, collate_fn, singly, as_numpy, joined), False


def make(
    given: Samples,
    collate_fn: Callable[[Any], Any] | None,
    singly: bool,
    as_numpy: bool,
    joined: Joins | None = None,
) -> Any:
    """Return a batch of samples that are objects, as torch's loader without workers makes it."""
    usual = collate_fn is None or collate_fn is torch_api.collate_of(singly)
    if usual and not singly and (as_numpy or torch_api.loaded() is None):
        slots = _packed(given)
        return copy(slots, collate_fn, singly, as_numpy, _new_bytes, joined)[0]
    return _collated(given.samples, given.rows, collate_fn, singly, as_numpy, joined)


def _new_bytes(size_bytes: int) -> NDArray[np.uint8]:
    return np.empty(size_bytes, np.uint8)


def _packed(given: Samples) -> Slots:
    """Write samples into memory of their own, as workers do: NumPy batches are gathered there."""
    parcels = [pack(sample) for sample in given.samples]
    sizes = [max(1, -(-p.layout.size_bytes // LINE_BYTES)) * LINE_BYTES for p in parcels]
    ends = np.cumsum([0, *sizes])
    memory = np.zeros(int(ends[-1]) or LINE_BYTES, np.uint8)
    for parcel, start, end in zip(parcels, ends.tolist(), ends.tolist()[1:], strict=False):
        parcel.write(memory[start:end])
    return Slots([parcel.layout for parcel in parcels], memory, ends[:-1], given.rows)


def _collated(
    samples: list[Any],
    rows: NDArray[np.int64],
    collate_fn: Callable[[Any], Any] | None,
    singly: bool,
    as_numpy: bool,
    joined: Joins | None,
) -> Any:
    usual = collate_fn is None or collate_fn is torch_api.collate_of(singly)
    if joined is not None:
        samples = joined.samples(samples, rows)
    data = samples[0] if singly else samples
    if collate_fn is not None and not usual:
        return collate_fn(data)
    if as_numpy:
        return data
    return (torch_api.convert if singly else torch_api.collate)(data)
