"""What a pass reads next, and what it has yielded: drawn by the daemon, or told by a sampler.

Both are the authority on what was yielded. `begin` says what is left, to any daemon; what was asked
for and not yielded before it is asked for again.
"""

import os
from collections import deque
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client.dataset.identity import Identity
from joader.client.order.progress import NOBODY, DrawnBy, Progress
from joader.client.order.sampler_order import ToldBatch, ToldOrder
from joader.client.order.samplers import NotPositions
from joader.messages import (
    MY_JOB,
    Announce,
    Begin,
    Deliver,
    Know,
    PlannedStep,
    Want,
)


class Source(Protocol):
    """The order of one pass."""

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        ...

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        ...

    @property
    def drawn_by(self) -> DrawnBy:
        """Who drew it last."""
        ...

    def begin(self, number: int, by: DrawnBy = NOBODY) -> Begin:
        """Begin, or begin again with another daemon; `by` is who draws now."""
        ...

    def ask(self) -> Want | None:
        """Return what to ask for next; None when nothing is left."""
        ...

    def raise_error(self) -> None:
        """Raise what kept the order from going on, if everything before it was yielded."""
        ...

    def positions(self, batch: Deliver) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        ...

    def randomness(self, batch: Deliver) -> tuple[int, list[int]]:
        """Return the key of the pass, and how often each position of a batch came before."""
        ...

    def note(self, batch: Deliver) -> None:
        """Note that a batch was yielded."""
        ...

    def state(self, identity: Identity, seed: int, order: str) -> dict[str, Any]:
        """Return what was yielded, as small plain data."""
        ...


class Drawn:
    """The daemon draws from what is left of the dataset.

    Of several ranks each asks for its part of every step, and all note the whole step. So their
    states are equal.
    """

    def __init__(
        self,
        progress: Progress,
        batch_size: int,
        drop_last: bool,
        world_size: int = 1,
        rank: int | None = None,
        new_key: int = 0,
    ) -> None:
        """Go on from this progress; if it has no key, the pass begins with a new one.

        Of ranks it is the key of rank 0, which comes with the plan.
        """
        self.progress = progress
        self._batch_size = batch_size
        self._rank = rank
        self._new_key = new_key
        self._plan: deque[PlannedStep] = deque()  # steps that a rank knows of, not yielded
        self._planned_by: deque[DrawnBy] = deque()  # each of them; equal on all ranks
        self._by = NOBODY  # who draws now
        self._noted = 0  # steps that were
        full, rest = divmod(progress.length - progress.count, batch_size * world_size)
        # Equal steps: the last is shared out evenly, as far as that goes.
        self._left = full * batch_size + (0 if drop_last else -(-rest // world_size))
        self._unasked = self._left

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        return self.progress.epoch

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        return self._left <= 0

    @property
    def drawn_by(self) -> DrawnBy:
        """Who drew it last."""
        return self.progress.drawn_by

    def begin(self, number: int, by: DrawnBy = NOBODY) -> Begin:
        """Begin, or begin again with another daemon; `by` is who draws now."""
        self._unasked = self._left
        self._by = by
        before = self.progress.drawn_by
        return Begin(
            MY_JOB,
            self.progress.epoch,
            done=self.progress.positions(),
            key=self.progress.key or self._new_key,
            taken=self._noted,
            plan=tuple(
                (positions, repeated, by.life)
                for (positions, repeated, _), by in zip(self._plan, self._planned_by, strict=True)
            ),
            number=number,
            # What it has drawn under this name itself the daemon knows.
            life=0 if before == by else before.life,
        )

    def learn(self, news: Announce) -> Know:
        """Note which steps come next, and say so."""
        self._plan += news.steps
        # Who has drawn a step is the same to all ranks, also to those on another node, and to one
        # that hears of it from the next daemon: their states are equal.
        for *_, life in news.steps:
            self._planned_by.append(DrawnBy(life, self._by.whom) if life else self._by)
        self._new_key = news.key
        return Know(MY_JOB, self._noted + len(self._plan), news.number)

    def ask(self) -> Want | None:
        """Return what to ask for next; None when nothing is left."""
        count = min(self._batch_size, self._unasked)
        self._unasked -= count
        return Want(MY_JOB, count) if count > 0 else None

    def raise_error(self) -> None:
        """Do nothing: what is drawn is always there."""

    def positions(self, batch: Deliver) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        told = batch.positions
        if self._rank is None:
            return told
        first = self._rank * len(told)  # ranks get numbers instead
        return self._plan[0][0][first : first + len(told)]

    def randomness(self, batch: Deliver) -> tuple[int, list[int]]:
        """Return the key of the pass, and how often each position of a batch came before."""
        return self.progress.key or self._new_key, [0] * len(batch.positions)

    def note(self, batch: Deliver) -> None:
        """Note that a batch was yielded."""
        positions = batch.positions
        self._left -= len(positions)
        by = self._by
        if self._rank is not None:
            positions, by = self._plan.popleft()[0], self._planned_by.popleft()
            self._noted += 1
            self.progress.key = self._new_key
        if by.life:
            self.progress.drawn_by = by
        self.progress.note(positions)

    def state(self, identity: Identity, seed: int, order: str) -> dict[str, Any]:
        """Return what was yielded, as small plain data."""
        return self.progress.state(identity, seed, order)


class Told:
    """A sampler of the user's says what comes; it is read a few batches ahead, as torch does."""

    def __init__(
        self, order: ToldOrder, progress: Progress, saved: dict[str, Any] | None = None
    ) -> None:
        """Begin, or go on from what was saved of the order."""
        self._progress = progress
        self._saved = saved or order.save()
        self._unit = self._saved["unit"]
        if self._saved["count"] and order.has_state:
            # What came before is not known: what comes again must not get the same random numbers.
            progress.key = key_from(progress.key, self._saved["count"])
        self._batches = order.read(saved)
        self._waiting: deque[ToldBatch] = deque()  # taken from the sampler and not yielded
        self._asked = 0  # how many of these the daemon was asked for
        self._error: Exception | None = None  # of the sampler, after these
        self._look()

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        return self._progress.epoch

    @property
    def complete(self) -> bool:
        """Whether everything was yielded; the sampler is asked if nothing is known."""
        if not self._waiting and self._error is None:
            self._look()
        return not self._waiting

    @property
    def drawn_by(self) -> DrawnBy:
        """Who drew it last: no daemon did."""
        return NOBODY

    def begin(self, number: int, by: DrawnBy = NOBODY) -> Begin:
        """Begin, or begin again with another daemon."""
        self._asked = 0
        return Begin(MY_JOB, self.epoch, key=self._progress.key, number=number)

    def ask(self) -> Want | None:
        """Return what to ask for next; None when the sampler has ended."""
        if self._asked == len(self._waiting):
            self._look()
        if self._asked == len(self._waiting):
            return None
        positions, times, _ = self._waiting[self._asked]
        self._asked += 1
        return Want(
            MY_JOB,
            len(positions),
            positions=np.array(positions, np.int64),
            times=np.array(times, np.int64) if any(times) else None,
        )

    def raise_error(self) -> None:
        """Raise what the sampler raised, once everything before it was yielded."""
        error, self._error = (None, self._error) if self._waiting else (self._error, None)
        if error is not None:
            raise error

    @property
    def has_other_keys(self) -> bool:
        """Whether the sampler's first batch has keys that are not row numbers."""
        return not self._waiting and isinstance(self._error, NotPositions)

    def largest(self) -> int:
        """Return the size of the largest batch that is known so far."""
        return max((len(batch.positions) for batch in self._waiting), default=1)

    def positions(self, batch: Deliver) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        return np.array(self._waiting[0].positions, np.int64)

    def randomness(self, batch: Deliver) -> tuple[int, list[int]]:
        """Return the key of the pass, and how often each position of a batch came before."""
        return self._progress.key, list(self._waiting[0].times)

    def note(self, batch: Deliver) -> None:
        """Note that a batch was yielded."""
        positions, _, after = self._waiting.popleft()
        self._asked -= 1
        count = self._saved["count"] + (1 if self._unit == "batches" else len(positions))
        self._saved = {**self._saved, "count": count, "state": after}

    def state(self, identity: Identity, seed: int, order: str) -> dict[str, Any]:
        """Return how much was yielded, and where the sampler had begun."""
        return {**self._progress.state(identity, seed, order), "sampler": dict(self._saved)}

    def _look(self) -> None:
        """Take the sampler's next batch."""
        try:
            batch = next(self._batches, None)
        except Exception as error:  # the user's code; it is looked at ahead of its time
            self._error = self._error or error
            return
        if batch is not None:
            self._waiting.append(batch)


def key_from(*parts: int) -> int:
    """Return where random numbers start that are made of all of these."""
    name = " ".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1


def random_key() -> int:
    """Return where random numbers start that nobody can foresee."""
    return int.from_bytes(os.urandom(8)) >> 1
