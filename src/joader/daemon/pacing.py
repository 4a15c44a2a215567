"""The daemon's event loop: it wakes at once when it was idle, and at a steady pace when it is busy.

A hundred workers report ten thousand times a second. If each report woke the loop, each would be a
round of decisions of its own; handled together they cost a fraction. So there is a limit to how
often the loop looks for what has come: RATE times a second, with BURST looks to spare for whoever
comes after a pause. A lone row, or the first batch of a job, never waits; under load a message
waits for a millisecond at most.

What follows from what has come (decisions, then writes) is done before the loop looks again, a few
callbacks deep: so all of one look is decided on together, and each worker gets one write.
"""

import asyncio
import selectors
import time
from collections.abc import Callable

RATE = 1000.0
BURST = 32.0
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
        self._at = clock()  # when that was so
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
        if self._looks < 1.0:
            wait_s = (1.0 - self._looks) / RATE
            if timeout is not None:
                wait_s = min(wait_s, timeout)
                timeout -= wait_s
            self._sleep(wait_s)
        self._looks -= 1.0
        return super().select(timeout)


def paced_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop for the daemon."""
    return asyncio.SelectorEventLoop(PacedSelector())
