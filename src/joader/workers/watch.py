"""What is wrong with a worker: a row takes too long, it has grown, it does not answer.

How long a row may take the jobs that read it say (`timeout`). A worker that works on one row for
long, still within that, may hold others up: it is asked for what it has not begun. One that does
not even answer is stopped (SIGSTOP, `docker pause`) or in native code that holds the interpreter.
Growth counts from a worker's first rows on, so that a large dataset is no leak.
Not here: what becomes of it (crew.py).
"""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from joader.workers.desk import Note
from joader.workers.hand import Hand, Order

log = logging.getLogger("joader.daemon")

# Without a report for so long, a worker is asked for what it has not begun …
STUCK_S = 1.0
# … and without an answer for so long, others do what it has.
LATE_S = 1.0
_SOON_S = 0.1


class Watch:
    """The limits of one crew's workers, and what was seen of them last."""

    def __init__(self, limit_of: Callable[[Order], float], most_growth_bytes: int) -> None:
        """Look after workers; `limit_of` says how many seconds an order may take."""
        self._limit_of = limit_of
        self._most_growth_bytes = most_growth_bytes
        self._late: dict[tuple[int, int], float] = {}  # (process, sample) to since when, as seen

    def give_up_overdue(self, hands: Iterable[Hand]) -> None:
        """Kill workers for what takes longer than allowed, once it was seen twice."""
        late: dict[tuple[int, int], float] = {}
        for hand in [hand for hand in hands if not hand.overdue]:
            notes = self._overdue(hand)
            late |= {(hand.pid, note.sample): note.since for note in notes}
            seen = [n for n in notes if self._late.get((hand.pid, n.sample)) == n.since]
            if seen:
                log.warning("worker %d is killed: %s took too long", hand.pid, seen[0].step)
                hand.give_up_on(seen, partial(self._too_long, hand))
        self._late = late

    def acts_in_s(self, hand: Hand) -> float | None:
        """Return in how many seconds something of a worker is given up, if it is half way there."""
        now, slow = time.monotonic(), []
        for note in hand.at_work():
            limit_s = self._limit_of(hand.busy[note.sample])
            if now - note.since >= limit_s / 2:
                slow.append(note.since + limit_s - now)
        return max(_SOON_S, min(slow)) if slow else None

    def is_stuck(self, hand: Hand) -> bool:
        """Tell whether a worker has had things in hand for a while and has reported nothing."""
        return len(hand.busy) > 0 and time.monotonic() - hand.latest > STUCK_S

    def is_late(self, hand: Hand) -> bool:
        """Tell whether a worker that was asked for what it has not begun does not answer."""
        return hand.asked_back is not None and time.monotonic() - hand.asked_back > LATE_S

    def has_grown(self, hand: Hand) -> bool:
        """Tell whether a worker has grown by more than it may since it had done its first rows."""
        used_bytes = hand.private_bytes() if hand.done else 0
        if not used_bytes:
            return False
        if hand.private_bytes_at_first is None:
            hand.private_bytes_at_first = used_bytes
        grown_bytes = used_bytes - hand.private_bytes_at_first
        if grown_bytes <= self._most_growth_bytes:
            return False
        log.warning(
            "worker %d has grown by %d MiB since its first rows (at most %d are allowed): the "
            "dataset keeps more and more; the worker is replaced",
            *(hand.pid, grown_bytes >> 20, self._most_growth_bytes >> 20),
        )
        return True

    def _overdue(self, hand: Hand) -> list[Note]:
        now = time.monotonic()
        return [n for n in hand.at_work() if now - n.since > self._limit_of(hand.busy[n.sample])]

    def _too_long(self, hand: Hand, note: Note, trace: str) -> str:
        limit_s = self._limit_of(hand.busy[note.sample]) if note.sample in hand.busy else 0.0
        return (
            f"{note.step} took more than {limit_s:g} s, which is the job's timeout, so its worker "
            f"process {hand.pid} was killed. If it is slow and does not hang, give a "
            f"larger timeout=.\n{trace}"
        ).rstrip()
