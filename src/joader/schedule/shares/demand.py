"""How fast a job would read if it never waited, how much of that must be prepared, what it gets.

A job says with each batch it asks for how long it took for the one before, and how long it waited
for it. So its own speed is known while it starves, too. Not all that it reads is prepared for it:
*misses* are preparations per sample delivered, less than one if jobs share or find samples kept.
Not here: how fast jobs read in the engine's eyes, which look ahead by it (pace.py).
"""

import math

from joader.schedule.experience import Habit
from joader.schedule.limits.rate import Rate

# How much of a job's known speed remains with each further batch.
_FADING = 0.9
# One long step (a checkpoint, an evaluation) says little of the next.
_MOST_TIMES = 8.0
# A job that has not asked for this long, or for this many of its steps, is idle and holds nothing.
IDLE_S = 2.0
_IDLE_STEPS = 4.0
# What was known before a job came counts as this many batches: as much as for a job that reads on.
_RECALLED_BATCHES = 10
# A step this many times as long as it was before, or as short, contradicts that.
_CONTRADICTS = 2.0
_MOST_DOUBTS = 2
# A job that has read less is not worth remembering: its first steps differ from the others.
_LEAST_BATCHES = 8
# Shorter steps do not count: the job only measures how fast batches come.
_LEAST_STEP_S = 1e-7


class Demand:
    """The demand of one job, or one rank."""

    def __init__(self, weight: float = 1.0, team: str = "") -> None:
        """Start with nothing known; `team` names the ranks of one job."""
        self.weight, self.team = weight, team
        self._samples = self._step_s = self._wait_s = self._batches = 0.0
        self._recalled_s = 0.0  # per sample, from before
        self._unconfirmed = 0  # steps until what was recalled is no more than what is measured
        self._doubts = 0  # steps in a row that contradict it
        self._measured = 0  # batches
        self._latest: float | None = None
        self._delivered, self._prepared = Rate(), Rate()

    def recall(self, habit: Habit) -> None:
        """Take over how such a job read before.

        The first steps of a job take long and say little, so a few that contradict this are left
        out; more of them, and it was another job.
        """
        possible = _LEAST_STEP_S <= habit.step_s < math.inf and 1.0 <= habit.batch < math.inf
        if possible and not self._samples:
            self._recalled_s, self._unconfirmed = habit.step_s, _RECALLED_BATCHES
            self._batches = float(_RECALLED_BATCHES)
            self._samples = self._batches * habit.batch
            self._step_s = self._samples * habit.step_s

    @property
    def recalled(self) -> bool:
        """Whether what is known of it is from before."""
        return self._unconfirmed > 0

    @property
    def habit(self) -> Habit | None:
        """How it reads, for the next such job; None: that was not measured, or not for long."""
        if self._unconfirmed or self._measured < _LEAST_BATCHES:
            return None
        return Habit(self.step_s, self._samples / self._batches)

    def wanted(self, count: int, step_s: float, wait_s: float, now: float) -> None:
        """Note that it asks for a batch, after it took `step_s` for one and waited `wait_s`.

        Both are 0 for the first batches, which are asked for at once.
        """
        self._latest = now
        if not (0.0 <= wait_s < math.inf and 0.0 < step_s < math.inf) or count < 1:
            return  # no times, or impossible ones
        if self._unconfirmed and not self._counts(step_s / count):
            return
        self._measured += 1
        if self._samples:
            step_s = min(step_s, _MOST_TIMES * count * self._step_s / self._samples)
        self._samples = _FADING * self._samples + count
        self._step_s = _FADING * self._step_s + max(step_s, count * _LEAST_STEP_S)
        self._wait_s = _FADING * self._wait_s + wait_s
        self._batches = _FADING * self._batches + 1

    def _counts(self, each_s: float) -> bool:
        """Tell whether a step counts, given what was known before it."""
        if 1.0 / _CONTRADICTS < each_s / self._recalled_s < _CONTRADICTS:
            self._doubts = 0
            self._unconfirmed -= 1
            return True
        self._doubts += 1
        if self._doubts <= _MOST_DOUBTS:
            return False
        self._unconfirmed = 0
        self._samples = self._step_s = self._wait_s = self._batches = 0.0
        return True

    def counted(self, delivered: int, prepared: int, now: float) -> None:
        """Note what it has got in all, now and then."""
        self._delivered.note(delivered, now)
        self._prepared.note(prepared, now)

    def reads(self, now: float) -> bool:
        """Tell whether it is reading now, and not idle between two passes."""
        if self._latest is None:
            return False
        usual_s = (self._step_s + self._wait_s) / self._batches if self._batches else 0.0
        return now - self._latest < max(IDLE_S, _IDLE_STEPS * usual_s)

    @property
    def step_s(self) -> float:
        """How long it takes for a sample between two waits; 0 if that is not known."""
        return self._step_s / self._samples if self._samples else 0.0

    @property
    def wanted_per_s(self) -> float:
        """How many samples it would read per second if it never waited; infinite: not known."""
        return self._samples / self._step_s if self._samples else math.inf

    @property
    def per_s(self) -> float:
        """How many samples per second it has got recently."""
        return self._delivered.per_s

    @property
    def slowdown(self) -> float:
        """How many times as long its batches take as without waiting."""
        return 1.0 + self._wait_s / self._step_s if self._step_s else 1.0

    @property
    def misses(self) -> float:
        """How many recent preparations there are per sample that it gets."""
        # After few samples as if each had been prepared: at first none are ready.
        return (self._prepared.recent + 1.0) / (self._delivered.recent + 1.0)
