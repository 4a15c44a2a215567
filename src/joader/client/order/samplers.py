"""The samplers a loader shows, and the order of a pass that they give if they are read.

A loader always has a `sampler` and a `batch_sampler`, as torch's has: frameworks look for them.
Only a user's own is read, and torch's RandomSampler if a generator says what its order is.
Not here: how an order is saved and resumed (sampler_order.py).
"""

import operator
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from joader.client import torch_api
from joader.errors import BadArgument


@dataclass(frozen=True)
class Batches:
    """Positions of a sampler in batches: torch's BatchSampler, for want of torch."""

    sampler: Any
    batch_size: int
    drop_last: bool

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches."""
        batch: list[int] = []
        for position in self.sampler:
            batch.append(position)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        """Return the number of batches."""
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


def shown(
    dataset: Any,
    *,
    sampler: Any,
    batch_sampler: Any,
    batch_size: int | None,
    shuffle: bool,
    drop_last: bool,
    generator: Any,
) -> tuple[Any, Any]:
    """Return what torch's loader would have as its sampler and batch sampler."""
    torch = torch_api.loaded()
    if torch is None:
        if batch_sampler is not None or sampler is None:
            sampler = range(len(dataset))
        if batch_size is None or batch_sampler is not None:
            return sampler, batch_sampler
        return sampler, Batches(sampler, batch_size, drop_last)
    data = torch.utils.data
    if sampler is None and shuffle:
        sampler = data.RandomSampler(dataset, generator=generator) if len(dataset) else range(0)
    elif sampler is None:
        sampler = data.SequentialSampler(dataset)
    if batch_size is None or batch_sampler is not None:
        return sampler, batch_sampler
    return sampler, data.BatchSampler(sampler, batch_size, drop_last)


class NotPositions(BadArgument):
    """Say that a sampler gives keys that are not integers."""


def checked(batch: Iterable[Any], length: int) -> list[int]:
    """Return a batch of a sampler's as positions; those below 0 count from the end."""
    try:
        # The quick way for plain integers; anything else is looked at one by one.
        positions = array("q", batch).tolist()
    except (TypeError, ValueError, OverflowError, RuntimeError):
        positions = _one_by_one(batch, length)
    if not positions:
        raise BadArgument("the batch sampler gave an empty batch; leave it out")
    if min(positions) < 0 or max(positions) >= length:
        for position in positions:
            if not -length <= position < length:
                raise NotPositions(str(_no_position(position, length)))
        positions = [position % length for position in positions]
    return positions


def _one_by_one(batch: Any, length: int) -> list[int]:
    """Return the positions of a batch that is not plain; say which of it is not a position."""
    try:
        values = list(batch)
    except TypeError as error:
        raise NotPositions(
            f"the batch sampler gave {batch!r}; it gives a list of positions for each batch. "
            "A sampler of single positions is given as sampler="
        ) from error
    positions = []
    for value in values:
        try:
            positions.append(operator.index(value))
        except (TypeError, ValueError, RuntimeError) as error:
            raise NotPositions(str(_no_position(value, length))) from error
    return positions


def _no_position(value: object, length: int) -> BadArgument:
    return BadArgument(
        f"the sampler gave {value!r}; positions of this dataset are integers from 0 to "
        f"{length - 1}. Wrap a dataset with other keys in one that maps numbers to them; give "
        "lists of positions as batch_sampler="
    )
