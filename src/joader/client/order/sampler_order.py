"""The order that a sampler gives: read batch by batch, saved, resumed.

What is saved says where the pass began and how far it was yielded: positions of a sampler, which
may then go on in batches of another size, or batches of a batch sampler. To go on, the sampler
draws from where its generator was, and what was yielded is left out. torch's samplers without a
generator draw from the global one, which is set back for as long as that takes.
A sampler that has a `state_dict` of its own is asked for it after every batch instead.

How torch's loader begins a pass is part of where it began (`Beginning`): what it draws before its
samplers do, and how often it calls their `__iter__`, depends on its workers.

A position may come again in a pass. How often it came before is told with it, so that its random
numbers are others each time, and the same whichever batch it is in.
"""

import base64
import copy
from array import array
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import chain, islice
from typing import Any, NamedTuple

from joader.client import torch_api
from joader.client.order.samplers import Batches, checked
from joader.errors import BadArgument

_KINDS = {"unit": str, "count": int, "generator": str}


class Beginning(IntEnum):
    """What torch's loader does when a pass begins, beside iter() of its sampler."""

    NOTHING = 0  # its workers are those of the pass before
    SEED = 1  # draws a seed
    SEED_AND_AGAIN = 2  # draws a seed for new workers, and calls iter() once more


def beginning(workers: int, go_on: object) -> Beginning:
    """Return what torch's loader does with so many workers; `go_on`: they have read a pass."""
    if not workers:
        return Beginning.SEED
    return Beginning.NOTHING if go_on else Beginning.SEED_AND_AGAIN


class ToldBatch(NamedTuple):
    """A batch as the sampler gave it."""

    positions: list[int]
    times: list[int]  # how often each came before in this pass
    after: Any  # the sampler's own state after it; None if it has none


class ToldOrder:
    """What a loader's samplers say comes next."""

    def __init__(
        self,
        sampler: Any,
        batch_sampler: Any,
        batch_size: int | None,
        drop_last: bool,
        generator: Any,
        length: int,
        beginning: Beginning = Beginning.SEED,
    ) -> None:
        """Read batches of `batch_sampler`, or positions of `sampler` in batches of this size."""
        self._batches = batch_sampler
        self._sampler = sampler
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._generator = generator
        self._length = length
        self._beginning = beginning

    @property
    def unit(self) -> str:
        """What is counted."""
        return "positions" if self._batches is None else "batches"

    @property
    def has_state(self) -> bool:
        """Whether the sampler keeps a state of its own."""
        return self._stateful() is not None

    def save(self) -> dict[str, Any]:
        """Return where a pass would begin now."""
        state = self._state()
        text = "" if state is not None else _saved(self._source_of_numbers())
        began = int(self._beginning)
        return {"unit": self.unit, "count": 0, "generator": text, "state": state, "began": began}

    def check(self, saved: Any) -> None:
        """Raise BadArgument if a pass cannot go on from what was saved."""
        if not isinstance(saved, dict) or saved.keys() - {"began"} != {*_KINDS, "state"}:
            raise BadArgument(
                f"the state's sampler is {saved!r}; it holds {', '.join(_KINDS)} and state"
            )
        for name, kind in _KINDS.items():
            if type(saved[name]) is not kind or (kind is int and not 0 <= saved[name] < 2**63):
                raise BadArgument(f"the state's sampler has {name}={saved[name]!r}")
        if saved.get("began", 1) not in list(Beginning):
            raise BadArgument(f"the state's sampler has began={saved['began']!r}; it is 0, 1 or 2")
        if saved["unit"] != self.unit:
            raise BadArgument(
                f"the state counts {saved['unit']} and this loader's sampler gives {self.unit}; "
                "give it a sampler= or a batch_sampler= as it had when the state was made"
            )
        if (saved["state"] is not None) != self.has_state:
            raise BadArgument(
                "the state is of a sampler with a state_dict() and this one has none, or the other "
                "way round; make both loaders with the same sampler"
            )
        state = _decoded(saved["generator"])
        if saved["state"] is None:
            self._check_generator(state)

    def _check_generator(self, state: bytes) -> None:
        """Refuse a state that the sampler's generator could not take: iter() would be too late."""
        numbers, torch = self._source_of_numbers(), torch_api.loaded()
        if torch is None or not isinstance(numbers, torch.Generator):
            return
        try:
            # Another one of its kind: the sampler's own may be in use.
            torch.Generator(numbers.device).set_state(torch.tensor(list(state), dtype=torch.uint8))
        except RuntimeError as error:
            raise BadArgument(
                f"the state of the sampler's generator, {len(state)} bytes, is not what was saved: "
                f"{str(error).splitlines()[0]}"
            ) from error

    def read(self, saved: dict[str, Any] | None = None) -> Iterator[ToldBatch]:
        """Begin to read, or go on from what was saved; all is drawn when a batch is asked for."""
        times = array("I", bytes(4 * self._length))
        if saved is None:
            return (self._told(batch, times) for batch in self._opened(0, times, self._beginning))
        stateful = self._stateful()
        if stateful is not None:
            stateful.load_state_dict(copy.deepcopy(saved["state"]))
            return self.read()
        return self._again(saved, times)

    def _again(self, saved: dict[str, Any], times: "array[int]") -> Iterator[ToldBatch]:
        """Draw what was drawn before once more, and leave out what was yielded."""
        numbers, torch = self._source_of_numbers(), torch_api.loaded()
        state = _decoded(saved["generator"])
        count, began = saved["count"], saved.get("began", Beginning.SEED)  # older states have none
        if not state or numbers is None or torch is None:
            yield from (self._told(batch, times) for batch in self._opened(count, times, began))
            return
        # Samplers draw when their first batch is asked for. For that long the global generator is
        # set back; then it goes on as if nobody had drawn from it.
        now = torch.get_rng_state()
        numbers.set_state(torch.tensor(list(state), dtype=torch.uint8))
        try:
            batches = self._opened(count, times, began)
            first = list(islice(batches, 1))
        finally:
            if numbers is torch.default_generator:
                torch.set_rng_state(now)
        yield from (self._told(batch, times) for batch in chain(first, batches))

    def _opened(self, skip: int, times: "array[int]", beginning: int) -> Iterator[list[int]]:
        """Begin to read the samplers: return the positions of each batch after the first `skip`.

        All is drawn in the order in which torch's loader would draw it.
        """
        given = self._iterated(skip, times)
        torch = torch_api.loaded()
        if torch is not None and beginning != Beginning.NOTHING:
            torch.empty((), dtype=torch.int64).random_(generator=self._generator)
        if beginning == Beginning.SEED_AND_AGAIN:
            given = self._iterated(skip, times)
        cut = self._batches is None and self._batch_size is not None
        return self._after(0 if cut else skip, given, times)

    def _iterated(self, skip: int, times: "array[int]") -> Iterator[Iterable[Any]]:
        """Return what the samplers give; `__iter__` of those that torch's loader asks has run."""
        if self._batches is not None:
            return iter(self._batches)
        if self._batch_size is None:
            return ([position] for position in self._sampler)
        return self._cut(skip, times)

    def _after(
        self, skip: int, given: Iterator[Iterable[Any]], times: "array[int]"
    ) -> Iterator[list[int]]:
        for batch in islice(given, skip):
            self._count(checked(batch, self._length), times)
        for batch in given:
            yield checked(batch, self._length)

    def _cut(self, skip: int, times: "array[int]") -> Iterator[list[Any]]:
        """Cut what a sampler gives after `skip` positions into batches."""
        assert self._batch_size is not None
        positions = iter(self._sampler)
        for position in islice(positions, skip):
            self._count(checked([position], self._length), times)
        yield from Batches(positions, self._batch_size, self._drop_last)

    def _told(self, positions: list[int], times: "array[int]") -> ToldBatch:
        return ToldBatch(positions, self._count(positions, times), self._state())

    def _count(self, positions: list[int], times: "array[int]") -> list[int]:
        """Return how often each came before, and count it."""
        before = []
        for position in positions:
            before.append(times[position])
            times[position] += 1
        return before

    def _samplers(self) -> list[Any]:
        if self._batches is None:
            return [self._sampler]
        return [self._batches, getattr(self._batches, "sampler", None)]

    def _stateful(self) -> Any:
        """Return the sampler that keeps a state of its own, if one does."""
        for sampler in self._samplers():
            if hasattr(sampler, "state_dict") and hasattr(sampler, "load_state_dict"):
                return sampler
        return None

    def _state(self) -> Any:
        stateful = self._stateful()
        return None if stateful is None else copy.deepcopy(stateful.state_dict())

    def _source_of_numbers(self) -> Any:
        """Return the generator that the sampler draws from, if it is known."""
        # The inner sampler first: a batch sampler only cuts what that draws.
        for sampler in reversed(self._samplers()):
            if hasattr(sampler, "generator"):
                if sampler.generator is not None:
                    return sampler.generator
                torch = torch_api.loaded()
                return torch.default_generator if torch is not None else None
        return None


def _saved(generator: Any) -> str:
    """Return the state of a generator as text; empty if there is none."""
    if generator is None or not hasattr(generator, "get_state"):
        return ""
    return base64.b85encode(bytes(generator.get_state().tolist())).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b85decode(text)
    except ValueError as error:
        raise BadArgument(
            f"the state of the sampler's generator, {text[:20]!r}…, is not what was saved"
        ) from error
