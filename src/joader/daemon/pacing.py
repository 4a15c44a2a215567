"""The daemon's event loop: it wakes at once when it was idle, and at a steady pace when it is busy.

A hundred workers report ten thousand times a second. If each report woke the loop, each would be a
round of decisions of its own; handled together they cost a fraction. So there is a limit to how
often the loop looks for what has come: RATE times a second, with BURST looks to spare for whoever
comes after a pause. A look after a round that took long counts for more, MOST at most: the more
there is to do, the more is done together. A lone row, or the first batch of a job, never waits;
under load a message waits for a millisecond, and for four if the loop is always at work.

What follows from what has come (decisions, then writes) is done before the loop looks again, a few
callbacks deep: so all of one look is decided on together, and each worker gets one write.
"""

import asyncio
import selectors
import time
from collections.abc import Callable

RATE = 1000.0
BURST = 32.0
# A look counts for more if the loop was at work for over one part in so many of the time.
_PARTS = 6.0
MOST = 4.0
# How many times in a row callbacks go before sockets: decisions, writes, and what follows. Not for
# ever: a callback may call itself again and again.
_DEEP = 3

Events = list[tuple[selectors.SelectorKey, int]]


class PacedSelector(selectors.EpollSelector):
    """An epoll that is asked no more than RATE times a second for long."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start rested."""
        super().__init__()
        self._clock, self._sleep = clock, sleep
        self._looks = BURST  # that it may take at once
        self._at = self._woke = clock()  # when that was so; when it last had something to do
        self._skipped = 0

    def select(self, timeout: float | None = None) -> Events:
        """Return what has come; without a wait only if nothing else is to be done for long."""
        if timeout is not None and timeout <= 0:
            self._skipped += 1
            if self._skipped <= _DEEP:
                return []
            self._skipped = 0
            return super().select(0)
        self._skipped = 0
        now = self._clock()
        self._looks = min(BURST, self._looks + (now - self._at) * RATE)
        self._at = now
        counts = min(MOST, max(1.0, _PARTS * (now - self._woke) * RATE))
        if self._looks < counts:
            wait_s = (counts - self._looks) / RATE
            if timeout is not None:
                wait_s = min(wait_s, timeout)
                timeout -= wait_s
            self._sleep(wait_s)
        self._looks -= counts
        events = super().select(timeout)
        self._woke = self._clock()
        return events


def paced_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop for the daemon."""
    return asyncio.SelectorEventLoop(PacedSelector())
