"""Fresh instances: which preparations of a row there are, and which jobs have had each.

For jobs whose dataset has random code a preparation is an *instance*: it serves each of them once.
Jobs that read for the same (passes of one loader, ranks of one team) are one to this, also one
after the other: what they have had is kept as long as the instance.
The first instance of a row has the row's own number, its *home*; a further one, needed while the
first is in use, has a number from EXTRA_BASE on, which is given to another when it is gone. So has
a sample that is made for one job alone, its *own*, which no other ever gets. A job
counts as having had an instance from the moment it asks for it, so that a row that stands at
several positions gets one instance for each.

Invariant: only instances that are here or in preparation are known. Not here: where they are.
"""

from heapq import heappop, heappush

EXTRA_BASE = 1 << 31


class Instances:
    """Who has had which instance, by whom they read for."""

    def __init__(self) -> None:
        """Start without any."""
        self._had: dict[int, set[str]] = {}
        self._home: dict[int, int] = {}  # of extra instances
        self._extras: dict[int, list[int]] = {}  # by home
        self._own: set[int] = set()
        self._vacant: list[int] = []  # numbers below EXTRA_BASE + len(home) + len(vacant)

    def __len__(self) -> int:
        """Return how many are known."""
        return len(self._had) + len(self._home)

    def home(self, sample: int) -> int:
        """Return the number of the row a sample was prepared from."""
        return self._home.get(sample, sample)

    def new_to(self, whom: str, home: int) -> int | None:
        """Return an instance they have not had, or the home where there is none yet."""
        for sample in self.all_of(home):
            if whom not in self._had.get(sample, ()):
                return sample
        return None

    def has_had(self, whom: str, sample: int) -> bool:
        """Tell whether they have had an instance."""
        return whom in self._had.get(sample, ())

    def all_of(self, home: int) -> list[int]:
        """Return the home and its extra instances."""
        return [home, *self._extras.get(home, ())]

    def add_extra(self, home: int) -> int:
        """Return a number for one more instance."""
        sample = self._number(home)
        self._extras.setdefault(home, []).append(sample)
        return sample

    def add_own(self, home: int) -> int:
        """Return a number for a sample that one job gets and no other."""
        sample = self._number(home)
        self._own.add(sample)
        return sample

    def is_own(self, sample: int) -> bool:
        """Tell whether the sample is one job's alone."""
        return sample in self._own

    def _number(self, home: int) -> int:
        taken = len(self._home) + len(self._vacant)
        sample = heappop(self._vacant) if self._vacant else EXTRA_BASE + taken
        self._home[sample] = home
        return sample

    def take(self, whom: str, sample: int) -> None:
        """Note that a job asked for the instance."""
        self._had.setdefault(sample, set()).add(whom)

    def put_back(self, whom: str, sample: int) -> None:
        """Note that a job gave up the instance before it got it."""
        if sample in self._had:  # what an own part was made from may be gone
            self._had[sample].discard(whom)

    def forget(self, sample: int) -> None:
        """Note that the instance is gone."""
        self._had.pop(sample, None)
        home = self._home.pop(sample, None)
        if home is not None:
            if sample in self._own:
                self._own.remove(sample)
            else:
                self._extras[home].remove(sample)
                if not self._extras[home]:
                    del self._extras[home]
            heappush(self._vacant, sample)
