"""How a worker has spent its time: computing, waiting, or wanting a processor that others had.

`time.process_time` counts what all threads of the process have computed, those of libraries
included. The kernel says how long the working thread has stood in line for a processor
(`/proc/thread-self/schedstat`); where it does not, that counts as waiting. What is left of the wall
clock the row waited: for a disk, a network, a lock.
"""

import os
import time
from typing import NamedTuple

_PATH = "/proc/thread-self/schedstat"


class Spent(NamedTuple):
    """What a stretch of time consists of, in seconds."""

    computed_s: float
    waited_s: float


class Clock:
    """Of one worker; read by the thread that works, but for what is computed."""

    def __init__(self) -> None:
        """Start now, in the thread that works: the file is of the thread that opens it."""
        try:
            self._file = os.open(_PATH, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a kernel without it
            self._file = -1
        self._computed_s, self._delayed_s = time.process_time(), self._delay()

    def spent(self, wall_s: float) -> Spent:
        """Return how the time since this was asked last was spent, `wall_s` of it on rows."""
        computed_s, delayed_s = time.process_time(), self._delay()
        computed = computed_s - self._computed_s
        delayed = delayed_s - self._delayed_s
        self._computed_s, self._delayed_s = computed_s, delayed_s
        return Spent(computed, max(0.0, wall_s - computed - delayed))

    def _delay(self) -> float:
        if self._file < 0:
            return 0.0
        try:
            return int(os.pread(self._file, 64, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0
