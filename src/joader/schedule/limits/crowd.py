"""How many other processes want the processors that workers run on, as workers measure it.

A worker that wants a processor and has none stands in line. If as many workers run as there are
processors, they stand in line only for other processes: the training itself, another user's
programs. The kernel gives each process the same, so running no more workers than processors would
leave most of the time to programs with more processes. So for each process that workers stand in
line for, one more worker may run, while there is nothing to divide: with more workers than
processors, the kernel would set the shares. Workers that stand in line for each other do not
count.
"""

# How much of the past remains with each further report: a few seconds count.
_FADING = 0.98
# A smaller part of a worker's time in line is the kernel's own work, or coincidence.
_LEAST_DELAY = 0.1
# Running processes are taken to be at most this many times the processors.
_MOST_TIMES = 4


class Crowd:
    """What workers have had of processors, and how long they stood in line."""

    def __init__(self, processors: int) -> None:
        """Start with no other process known, on a machine of `processors`."""
        self.processors = processors
        self._computed_s = self._delayed_s = self._running = self._weight = 0.0

    def note(self, computed_s: float, delayed_s: float, running: float) -> None:
        """Note how long a worker computed and stood in line while `running` workers ran."""
        self._computed_s = _FADING * self._computed_s + computed_s
        self._delayed_s = _FADING * self._delayed_s + delayed_s
        self._running = _FADING * self._running + running
        self._weight = _FADING * self._weight + 1.0

    @property
    def others(self) -> float:
        """How many processes that are not workers want a processor at a time."""
        total_s = self._computed_s + self._delayed_s
        if not total_s or self._delayed_s < _LEAST_DELAY * total_s:
            return 0.0
        # Each of n that want P processors has one for P / n of the time.
        want = self.processors * total_s / max(self._computed_s, 1e-9)
        ran = max(self._running / self._weight, float(self.processors))
        return min(max(0.0, want - ran), (_MOST_TIMES - 1.0) * self.processors)
