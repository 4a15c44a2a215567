"""A batch, copied out of shared memory and collated: nothing of it is shared with anyone.

If the user leaves collating to torch, or to us, a batch is one native gather from its slots. A
`collate_fn` gets private copies of the samples.

Steps and collating in one function, for whoever makes another loader out of a joader one.

Accelerate, ignite and Hugging Face's Trainer take `.dataset`, `.batch_sampler` and `.collate_fn` of
a loader and make a torch loader of them. What joader would do in its workers must not be lost then:
the function that such a loader calls does it first.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_api
from joader.images import Steps
from joader.memory import Layout, gather, pack, read
from joader.memory.layout import LINE_BYTES
from joader.messages import Deliver
from joader.recipe.parts import OwnPart


class StepsFirst:
    """A `collate_fn` that prepares and transforms samples before it collates them."""

    def __init__(
        self,
        prepare: Steps,
        transform: Steps,
        collate: Callable[[Any], Any],
        batch_transform: Callable[[Any], Any] | None,
        singly: bool,
    ) -> None:
        """Do these in order; `singly`: what comes is one sample, not a list of them."""
        self._prepare, self._own = prepare, OwnPart(transform)
        self._collate, self._batch_transform = collate, batch_transform
        self._singly = singly

    def __call__(self, samples: Any) -> Any:
        """Return the batch of samples as the dataset gives them."""
        done = [self._done(samples)] if self._singly else [self._done(sample) for sample in samples]
        batch = self._collate(done[0] if self._singly else done)
        return self._batch_transform(batch) if self._batch_transform else batch

    def _done(self, sample: Any) -> Any:
        if self._prepare.steps:
            sample = self._prepare(sample, None, None, None)
        if self._own.steps.steps:
            # From Python's generator, which torch seeds in each of its workers.
            sample = self._own.finish(sample, random.getrandbits(63))
        return sample


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


@dataclass(frozen=True)
class Collation:
    """How samples become a batch."""

    collate_fn: Callable[[Any], Any] | None  # the user's, or torch's if torch is loaded
    singly: bool  # a batch is one sample
    as_numpy: bool

    @property
    def usual(self) -> bool:
        """Whether the user leaves it to torch, or to us."""
        return self.collate_fn is None or self.collate_fn is torch_api.collate_of(self.singly)


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
    collation: Collation,
    allocate: Callable[[int], Any],
    joined: Joins | None = None,
) -> tuple[Any, bool]:
    """Return the batch, and whether it lies in what `allocate` gave.

    `joined`: what puts further columns beside the samples' own.
    """
    layouts, memory, offsets, rows = slots
    if collation.usual and not collation.singly:
        copied = gather(
            layouts,
            memory,
            offsets,
            # None: tensors if torch is loaded.
            tensors=False if collation.as_numpy else None,
            allocate=allocate,
            allow_pickle=True,
        )
        if copied.collated and joined is not None:
            # False, though most of it may: the columns beside it are in memory of their own.
            return joined.batch(copied.data, rows, collation.as_numpy), False
        if copied.collated:
            return copied.data, True
        samples = copied.data
    else:
        samples = [
            read(layout, memory[offset:], allow_pickle=True)
            for layout, offset in zip(layouts, offsets.tolist(), strict=True)
        ]
    return _collated(Samples(samples, rows), collation, joined), False


def make(given: Samples, collation: Collation, joined: Joins | None = None) -> Any:
    """Return a batch of samples that are objects, as torch's loader without workers makes it."""
    by_us = collation.as_numpy or torch_api.loaded() is None
    if collation.usual and not collation.singly and by_us:
        # By the same way as from workers, so that batches do not differ by who prepared them.
        return copy(_packed(given), collation, _new_bytes, joined)[0]
    return _collated(given, collation, joined)


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


def _collated(given: Samples, collation: Collation, joined: Joins | None) -> Any:
    samples = given.samples if joined is None else joined.samples(given.samples, given.rows)
    data = samples[0] if collation.singly else samples
    if collation.collate_fn is not None and not collation.usual:
        return collation.collate_fn(data)
    if collation.as_numpy:
        return data
    return (torch_api.convert if collation.singly else torch_api.collate)(data)
