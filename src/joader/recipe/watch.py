"""Whether a dataset is better read by the job itself, which only a worker can find out.

It runs only if the user did not ask for workers, so that torch's loader would read in the job. A
dataset that *keeps state* changes when it is read, and such changes would be lost in a worker; the
first row shows it. One whose rows are *at hand*, ready in memory, is read in microseconds, while
fetching a row from another process takes many times longer; a few of the first rows show it. Rows
that draw random numbers do not count, because their numbers would depend on when the job began to
read.

Raising one of these errors makes the row fail in its worker, and its job continue without workers.
"""

import mmap
import time
from collections import deque
from collections.abc import Callable, Sequence
from resource import RUSAGE_THREAD, getrusage
from statistics import median
from typing import Any, NamedTuple, TypeVar

from joader.recipe.randomness import random_state

T = TypeVar("T")

# A row read in less time is at hand. Reading an element of a tensor takes 2 µs, opening a file 15,
# decoding the smallest image 50; having a row prepared by another process 50 to 100.
AT_HAND_S = 15e-6
# … if at most one takes longer than this: some rows may be quick, and others slow.
ALL_BUT_ONE_S = 50e-6
# For a job that reads by itself: after this many rows that took this long each, the rows were not
# at hand. Some of them are not counted, because a busy machine may have delayed them.
MANY, SLOW_S, HELD_UP = 256, 200e-6, 2
# How many consecutive rows decide: a busy machine may delay some.
ROWS = 9
# Among this many first rows: these fill caches, and a forked worker first copies pages.
FIRST = 3 * ROWS


class BetterInTheJob(Exception):
    """Raised if a dataset should not be read in a worker."""


class KeepsState(BetterInTheJob):
    """Raised if a dataset changes when it is read: a worker would lose such changes."""


class AtHand(BetterInTheJob):
    """Raised if reading a row takes next to no time."""


class Found:
    """A shared flag that a forked worker sets if rows are at hand, also for jobs that never ask."""

    def __init__(self) -> None:
        """Create the flag, shared with processes forked from now on."""
        self._shared = mmap.mmap(-1, 1)

    @property
    def at_hand(self) -> bool:
        """Whether rows were found to be at hand."""
        return self._shared[0] != 0

    def say_at_hand(self) -> None:
        """Set the flag for all processes that share it."""
        self._shared[0] = 1


class Signs(NamedTuple):
    """What to watch for: changes of the dataset, and the pace of the first `pace` rows."""

    state: bool = False
    pace: int = 0
    found: Found | None = None


NO_SIGNS = Signs()


class Watch:
    """Watches the first rows that a worker reads of a dataset."""

    def __init__(self, dataset: Any, signs: Signs) -> None:
        """Watch a dataset for these signs."""
        self._dataset = dataset
        self._before = _seen(dataset) if signs.state else {}
        self._found = signs.found
        self._pace = signs.pace
        self._watched = 0
        self._took_s: deque[float] = deque(maxlen=signs.pace or 1)  # the latest rows

    def watch(self, read: Callable[[], T]) -> tuple[T, bool]:
        """Read a row; return it, and whether nothing is left to watch."""
        before, begun = random_state(), _clock()
        row = read()
        took_s = _took_s(begun, _clock())
        return row, self.saw(took_s, drew=random_state() != before)

    def saw(self, took_s: float, drew: bool) -> bool:
        """Note a row's reading time; return whether nothing is left to watch.

        `drew`: reading has drawn random numbers.

        An attribute that was None may be opened or filled at its first use: that is not state.
        """
        if self._before:
            before, self._before = self._before, {}
            now = _seen(self._dataset)
            changed = [name for name in before if now.get(name) != before[name]]
            if changed:
                raise KeepsState(f"reading a row has changed the dataset's {changed[0]!r}")
        self._took_s.append(took_s)
        self._watched += 1
        if len(self._took_s) == self._pace and not drew:
            usual_s, (*most, _) = median(self._took_s), sorted(self._took_s)
            if usual_s < AT_HAND_S and max(most, default=0.0) < ALL_BUT_ONE_S:
                if self._found is not None:
                    self._found.say_at_hand()
                if self._pace >= ROWS:  # a smaller dataset has ended: only its next loader gains
                    raise AtHand(f"a row is read in {1e6 * usual_s:.1f} µs")
        return drew or not self._pace or self._watched >= FIRST


class Pace:
    """Checks that rows which a job reads itself, because they are at hand, stay quick."""

    def __init__(self) -> None:
        """Start before the first row."""
        self._took_s: list[float] = []
        self._begun = False  # whether the first rows were checked

    def is_slow(self, took_s: Sequence[float]) -> bool:
        """Note how long rows took; return whether they are slow after all.

        The first rows show at once whether experience with another dataset holds for this one.
        """
        self._took_s += took_s
        if not self._begun and len(self._took_s) >= ROWS:
            self._begun = True
            if median(self._took_s[:ROWS]) > SLOW_S:
                return True
        if len(self._took_s) < MANY:
            return False
        most = sorted(self._took_s)[:-HELD_UP]
        self._took_s = []
        return sum(most) > SLOW_S * len(most)


class _Moment(NamedTuple):
    at_s: float
    computed_s: float  # by this thread
    waits: int  # that it has begun


def _clock() -> _Moment:
    waits = getrusage(RUSAGE_THREAD).ru_nvcsw
    return _Moment(time.perf_counter(), time.thread_time(), waits)


def _took_s(begun: _Moment, ended: _Moment) -> float:
    """Return how long a row took, without delays by a busy machine."""
    if begun.waits == ended.waits:  # without a wait, the thread was only delayed
        return ended.computed_s - begun.computed_s
    return ended.at_s - begun.at_s


def _seen(dataset: Any) -> dict[str, Any]:
    """Return the attributes of a dataset whose changes are cheap to see.

    Containers count by identity and length only: this runs around a read, so it must be quick.
    """
    found: dict[str, Any] = {}
    for name, value in getattr(dataset, "__dict__", {}).items():
        if isinstance(value, int | float | str | bytes | tuple):
            found[name] = value if not isinstance(value, tuple) else (id(value), len(value))
        elif isinstance(value, list | dict | set | deque):
            found[name] = (id(value), len(value))
    return found
