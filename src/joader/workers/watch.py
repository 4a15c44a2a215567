"""What is wrong with a worker, by looking now and then: too long at a row, or grown too large.

What takes longer than the jobs that read it allow is given up. What is long at a row, still within
that, may hold others up. Growth counts from a worker's first rows on, so that a large dataset is no
leak. Not here: what becomes of it (crew.py).
"""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from joader.workers.desk import LOADING, Note
from joader.workers.hand import Hand, Order, code_of

log = logging.getLogger("joader.daemon")

# So long at one row, a worker holds up those who wait behind it. Loading code may take longer.
STUCK_S = 10.0
_SOON_S = 0.1


class Watch:
    """The limits of one crew's workers, and what was seen of them last."""

    def __init__(self, limit_of: Callable[[str | int], float], most_growth_bytes: int) -> None:
        """Look after workers; `limit_of` says how many seconds code may take for one sample."""
        self._limit_of = limit_of
        self._most_growth_bytes = most_growth_bytes
        self._late: dict[tuple[int, int], float] = {}  # (process, sample) to since when, as seen

    def give_up_overdue(self, hands: Iterable[Hand]) -> None:
        """Kill workers for what takes longer than allowed, once it was seen twice."""
        late: dict[tuple[int, int], float] = {}
        for hand in [hand for hand in hands if not hand.overdue]:
            pid = hand.process.pid
            notes = self._overdue(hand)
            late |= {(pid, note.sample): note.since for note in notes}
            seen = [n for n in notes if self._late.get((pid, n.sample)) == n.since]
            if seen:
                log.warning("worker %d is killed: %s took too long", pid, seen[0].step)
                hand.give_up_on(seen, partial(self._too_long, hand))
        self._late = late

    def acts_in_s(self, hand: Hand) -> float | None:
        """Return in how many seconds something of a worker is given up, if it is half way there."""
        now, slow = time.monotonic(), []
        for note in hand.at_work():
            limit_s = self._limit(hand.busy[note.sample])
            if now - note.since >= limit_s / 2:
                slow.append(note.since + limit_s - now)
        return max(_SOON_S, min(slow)) if slow else None

    def stuck(self, hand: Hand) -> set[str | int]:
        """Return whose code a worker has long been at."""
        since = time.monotonic() - STUCK_S
        long = [n for n in hand.at_work() if n.since < since and n.step != LOADING.decode()]
        return {code_of(hand.busy[note.sample]) for note in long}

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
            *(hand.process.pid, grown_bytes >> 20, self._most_growth_bytes >> 20),
        )
        return True

    def _overdue(self, hand: Hand) -> list[Note]:
        now = time.monotonic()
        return [n for n in hand.at_work() if now - n.since > self._limit(hand.busy[n.sample])]

    def _limit(self, order: Order) -> float:
        return self._limit_of(code_of(order))

    def _too_long(self, hand: Hand, note: Note, trace: str) -> str:
        limit_s = self._limit(hand.busy[note.sample]) if note.sample in hand.busy else 0.0
        return (
            f"{note.step} took more than {limit_s:g} s, which is the job's timeout, so its worker "
            f"process {hand.process.pid} was killed. If it is slow and does not hang, give a "
            f"larger timeout=.\n{trace}"
        ).rstrip()
