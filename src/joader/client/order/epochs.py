"""Which pass of a loader comes next, and where it goes on: its epoch, and a state that was loaded.

A loader's state is one of three. *Resuming*: a state was loaded and no pass has begun since; it is
that state. *Under way*: the latest pass has something left; it is what that pass yielded. Else it
is the head of the next epoch.
Not here: who says what comes in a pass (ordering.py), what was yielded of it (progress.py).
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from joader.client.dataset.identity import Identity
from joader.client.order.ordering import Ordering
from joader.client.order.progress import NOBODY, Progress, restored
from joader.client.order.source import Source, key_from, random_key
from joader.errors import BadArgument


class Epochs:
    """The epochs of a loader's passes."""

    def __init__(self, distributed: Any = None) -> None:
        """Begin at 0; a DistributedSampler that the user tells the epoch of says it."""
        self._next = 0
        self._resume: dict[str, Any] | None = None
        self._source: Source | None = None  # of the latest pass
        self._begun: dict[int, int] = {}  # passes, by epoch
        self._distributed = distributed
        self._told = 0  # by the DistributedSampler
        self._is_known = False  # somebody has said which epoch is next, or a pass has begun

    @property
    def next(self) -> int:
        """The epoch of the next pass."""
        return self._next

    @property
    def latest(self) -> int:
        """The epoch of the latest pass, or of the next if none has begun."""
        return self._source.epoch if self._source else self._next

    @property
    def resuming(self) -> bool:
        """Whether the next pass goes on from a state."""
        return self._resume is not None

    def copied(self) -> "Epochs":
        """Return the same for a loader that has begun no pass."""
        other = copy.copy(self)
        other._source = None
        other._begun = dict(self._begun)
        return other

    def set_next(self, epoch: int) -> None:
        """Number the next pass; a loaded state stays if it is of this epoch."""
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise BadArgument(f"epoch is {epoch!r}; an epoch is an integer >= 0")
        self._next, self._is_known = epoch, True
        if self._resume is not None and self._resume["epoch"] != epoch:
            self._resume = None

    def next_source(self, ordering: Ordering, identity: Identity) -> Source:
        """Return the order of the next pass, after what a loaded state says was yielded."""
        state = self._resume
        if self._distributed is not None and self._distributed.epoch != self._told:
            # The user has called its set_epoch; a state that was loaded keeps its own epoch.
            self._told = self._distributed.epoch
            self._next = self._told if state is None else self._next
        if state is None:
            return self._source_after(self._head(identity.length), ordering, None)
        progress = restored(state, identity)
        source = self._source_after(progress, ordering, state.get("sampler"))
        if progress.count and source.complete:  # with drop_last, or smaller steps, nothing is left
            head = Progress(progress.length, progress.epoch + 1, drawn_by=progress.drawn_by)
            return self._source_after(head, ordering, None)
        return source

    def begin(self, source: Source) -> None:
        """Note that a pass has begun."""
        self._source, self._resume = source, None
        self._next, self._is_known = source.epoch + 1, True

    def begin_elsewhere(self) -> int:
        """Return the epoch of a pass that another loader reads, which was made of this one."""
        if self._resume is None and not self._is_known:
            raise BadArgument(
                "batches of an epoch are to be skipped, but nobody has said which epoch it is: "
                "call set_epoch() on the loader first"
            )
        epoch: int = self._next if self._resume is None else self._resume["epoch"]
        self._source, self._resume = None, None
        self._next, self._is_known = epoch + 1, True
        return epoch

    def state(self, ordering: Ordering, identity: Identity) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data."""
        if self._resume is not None:
            return copy.deepcopy(self._resume)
        if self._source is not None and not self._source.complete:
            return self._source.state(identity, ordering.seed, ordering.name)
        state = self._head(identity.length).state(identity, ordering.seed, ordering.name)
        if not ordering.told:
            return state
        return {**state, "sampler": ordering.told_order(identity.length).save()}

    def load(self, state: dict[str, Any], ordering: Ordering, identity: Identity) -> None:
        """Go on from a state at the next pass; say here already what is wrong with it."""
        restored(state, identity)
        if ("sampler" in state) != ordering.told:
            raise BadArgument(
                "the state is of a loader with a sampler and this one has none, or the other way "
                "round; make both loaders with the same arguments"
            )
        if ordering.told:
            ordering.told_order(identity.length).check(state["sampler"])
        elif state["order"] == ordering.name == "seeded" and state["seed"] != ordering.seed:
            raise BadArgument(
                f"the state is of seed {state['seed']}, this loader has seed {ordering.seed}: what "
                f"is left would come in another order. Make the loader with seed={state['seed']}"
            )
        self._resume = copy.deepcopy(state)

    def _head(self, length: int) -> Progress:
        """Return the beginning of the next epoch."""
        drawn_by = self._source.drawn_by if self._source else NOBODY
        return Progress(length, self._next, drawn_by=drawn_by)

    def _source_after(
        self, progress: Progress, ordering: Ordering, saved: dict[str, Any] | None
    ) -> Source:
        key = progress.key or self._new_key(progress.epoch, ordering)
        return ordering.source(progress, key, saved)

    def _new_key(self, epoch: int, ordering: Ordering) -> int:
        """Return where a new pass's random numbers start: new ones, or the seed's."""
        if not ordering.seeded:
            return random_key()
        # A second pass of one epoch has other random numbers, and the same in every run.
        number = self._begun.get(epoch, 0)
        self._begun[epoch] = number + 1
        return key_from(ordering.seed, epoch, number)


class FromTheStart:
    """The batches of a seeded epoch, for a loader that is made of ours to skip the first of them.

    A batch sampler: the epoch is the one that is next when it is read.
    """

    def __init__(
        self, epochs: Epochs, batches: Callable[[int], Iterator[list[int]]], length: int
    ) -> None:
        """Ask for the `length` batches of an epoch once it is known."""
        self._epochs, self._batches, self._length = epochs, batches, length

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch it is."""
        self._epochs.set_next(epoch)

    def __len__(self) -> int:
        """Return the number of batches."""
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches of positions."""
        yield from self._batches(self._epochs.begin_elsewhere())
