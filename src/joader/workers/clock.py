"""How a worker has spent its time: computing, waiting, or runnable while others had the CPU.

`time.process_time` counts the CPU time of all threads of the process, including those of libraries.
The kernel reports how long the working thread has queued for a CPU (`/proc/thread-self/schedstat`);
on a kernel without it, that time counts as waiting. The rest of the wall clock is waiting: for a
disk, a network, a lock.
"""

import os
import time
from typing import NamedTuple

_PATH = "/proc/thread-self/schedstat"


class Spent(NamedTuple):
    """How an interval was spent; time in the run queue is in neither field."""

    computed_s: float
    waited_s: float


class Clock:
    """Measures the working thread's queueing and waiting, and the CPU time of the whole process."""

    def __init__(self) -> None:
        """Start in the working thread: schedstat belongs to the thread that opens it."""
        try:
            self._file = os.open(_PATH, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a kernel without it
            self._file = -1
        self._computed_s, self._delayed_s = time.process_time(), self._delay()

    def spent(self, wall_s: float) -> Spent:
        """Return how the time since the last call was spent; `wall_s` of it went into rows."""
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
