"""Fresh instances: which jobs have had which preparations of a row.

For jobs whose dataset has random code a preparation is an *instance*: it serves each of them once.
Jobs that read for the same (passes of one loader, ranks of one team) are one to this, also one
after the other: what they have had is kept as long as the instance. A job counts as having had an
instance from the moment it asks for it, so that a row that stands at several positions gets one
instance for each.

An instance is *fresh* if it was prepared for such a job and no job whose dataset is deterministic
has taken it: nobody says that it may serve a job twice, so it goes once no job can use it. All
other samples are *kept*: they serve such jobs as instances, once each, and stay.

Invariant: only instances that are here or in preparation are known. Not here: where they are.
"""

from collections.abc import Iterable


class Instances:
    """Who has had which instance, by whom they read for."""

    def __init__(self) -> None:
        """Start without any."""
        self._had: dict[int, set[str]] = {}
        self._fresh: set[int] = set()

    def __len__(self) -> int:
        """Return how many have been had by somebody."""
        return len(self._had)

    def has_had(self, whom: str, sample: int) -> bool:
        """Tell whether they have had an instance."""
        return whom in self._had.get(sample, ())

    def take(self, whom: str, sample: int) -> None:
        """Note that a job asked for the instance."""
        self._had.setdefault(sample, set()).add(whom)

    def put_back(self, whom: str, sample: int) -> None:
        """Note that a job gave up the instance before it got it."""
        if sample in self._had:
            self._had[sample].discard(whom)

    def begin(self, samples: Iterable[int]) -> None:
        """Note that these are prepared for a job that gets each sample once."""
        self._fresh.update(samples)

    def vouch(self, samples: Iterable[int]) -> None:
        """Note that a job takes these which says that any sample of a row is as good as another."""
        if self._fresh:
            self._fresh.difference_update(samples)

    def is_fresh(self, sample: int) -> bool:
        """Tell whether nobody but jobs that get it once has taken it."""
        return sample in self._fresh

    def forget(self, sample: int) -> None:
        """Note that the instance is gone."""
        self._had.pop(sample, None)
        self._fresh.discard(sample)
