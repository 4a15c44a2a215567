"""Three samplers that cheat, each in another way, to show that the statistics can fail.

All read every row exactly once a pass, and the first two are uniform *on average*: only the history
gives them away.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.sampling import Draws
from joader.sampling.group import players_by_round
from joader.sampling.sampler import Job


class _Cheat:
    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.left: dict[Job, list[int]] = {}

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0) -> None:
        self.left[job] = sorted(np.asarray(rows).tolist())

    def draw(self, counts: Mapping[Job, int]) -> Draws:
        jobs = list(counts)
        masks = [(1 << number, counts[job]) for number, job in enumerate(jobs)]
        drawn: dict[Job, list[int]] = {job: [] for job in jobs}
        for players in players_by_round(masks, max(counts.values())):
            for number, job in enumerate(jobs):
                if players >> number & 1:
                    row = self.pick(job)
                    self.left[job].remove(row)
                    drawn[job].append(row)
        return {job: np.array(rows, np.int64) for job, rows in drawn.items()}

    def pick(self, job: Job) -> int:
        raise NotImplementedError

    def remaining(self, job: Job) -> int:
        return len(self.left[job])

    def unread(self, job: Job) -> NDArray[np.int64]:
        return np.array(self.left[job], np.int64)

    def remove(self, job: Job) -> None:
        del self.left[job]


class OneOrderForAll(_Cheat):
    """Shuffles once, and every job takes what comes next: whoever lags can be predicted."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.order = self.rng.permutation(64).tolist()

    def pick(self, job: Job) -> int:
        return next(row for row in self.order if row in self.left[job])


class PrefersPrepared(_Cheat):
    """With one chance in four takes a row that was read lately, as a cache-friendly one would."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.prepared: list[int] = []

    def pick(self, job: Job) -> int:
        ready = [row for row in self.left[job] if row in self.prepared]
        choice = ready if ready and self.rng.random() < 0.25 else self.left[job]
        row = int(self.rng.choice(choice))
        self.prepared = [*self.prepared[-59:], row]
        return row


class OffByOne(_Cheat):
    """Draws an index below n - 1 instead of n while it can: the highest row comes last."""

    def pick(self, job: Job) -> int:
        left = self.left[job]
        return left[int(self.rng.integers(max(1, len(left) - 1)))]
