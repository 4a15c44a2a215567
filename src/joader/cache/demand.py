"""What jobs will still ask for: the rows that each has not read in its pass, and when it will.

Rows are known by their *homes*, the numbers by which all samples of a row are found. A job is known
from its first `begin` until `leave`. A call that raises changes nothing. Not here: which samples
are in use (table.py), which one leaves (eviction/).
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from joader.cache.needs import Flags, Needs, Samples, as_samples, needs_of
from joader.errors import BadArgument, BadRows, JobExists, UnknownJob

Job: TypeAlias = Hashable


class Forecast(Protocol):
    """Knows when jobs will read each row, for jobs whose order is known."""

    def seconds_until(self, homes: Samples) -> npt.NDArray[np.float64]:
        """Return the seconds until a job asks for each row.

        Infinite if no job will, NaN if only needs are known.
        """

    def seconds_until_one(self, home: int) -> float:
        """Return the same for one row."""


# The rate of a job while it is not known.
DEFAULT_RATE = 1.0
_LEAST_RATE = 1e-12
_SOON_S = 1e-6


@dataclass(slots=True)
class _Reader:
    """What a job has to read, and its rate: how often a second it asks for one row of that."""

    needs: Needs
    rate: float = DEFAULT_RATE


class Demand:
    """What all jobs will ask for."""

    def __init__(self) -> None:
        """Start with no jobs."""
        self._readers: dict[Job, _Reader] = {}
        self._reading: dict[Job, _Reader] = {}  # those that need something
        self._ordered: set[Job] = set()  # those whose order is known
        self.forecast: Forecast | None = None
        # Changes the rates of samples by what other forms of their rows save: set by two_forms.py.
        self.weigh: Callable[[list[int], npt.NDArray[np.float64]], None] | None = None
        self.plans: dict[int, int] = {}  # by home: in which tick it will be asked for next

    def begin(self, job: Job, homes: npt.ArrayLike, ordered: bool = False) -> None:
        """Start a pass of the job over these distinct rows; the job may be new.

        `ordered`: the forecast knows when it reads what.
        """
        reader = self._readers.get(job)
        if reader is not None and reader.needs.count:
            raise JobExists(
                f"job {job!r} still has {reader.needs.count} samples to read in its pass; "
                "let it read them, or call leave() first"
            )
        needs = needs_of(homes)  # may raise, so before anything changes
        if reader is None:
            reader = self._readers[job] = _Reader(needs)
        reader.needs = needs
        if needs.count:
            self._reading[job] = reader
        (self._ordered.add if ordered else self._ordered.discard)(job)

    def read(self, job: Job, home: int) -> None:
        """Note that the job asked for the row: it no longer needs it in this pass."""
        reader = self._reader(job)
        if not reader.needs.remove(home):
            raise BadArgument(
                f"job {job!r} does not need sample {home}: "
                "it is not in the job's pass, or was already read"
            )
        if not reader.needs.count:
            del self._reading[job]

    def read_each(self, job: Job, homes: npt.ArrayLike) -> None:
        """Do as `read` for each of these distinct rows, all or none."""
        reader, array = self._reader(job), as_samples(homes)
        needed = reader.needs.has_each(array)
        if not needed.all():
            raise BadArgument(
                f"job {job!r} does not need sample {array[~needed][0]}: "
                "it is not in the job's pass, or was already read"
            )
        ordered = np.sort(array)  # ten times as fast as np.unique
        if (ordered[1:] == ordered[:-1]).any():
            raise BadRows(f"some of the {len(array)} samples read are repeated; give each one once")
        reader.needs.remove_each(array)
        if not reader.needs.count:
            self._reading.pop(job, None)

    def end(self, job: Job) -> None:
        """End the job's pass early: it needs no further rows of it."""
        self._reader(job).needs = needs_of(())
        self._reading.pop(job, None)

    def leave(self, job: Job) -> None:
        """Forget a job."""
        self._reader(job)
        del self._readers[job]
        self._reading.pop(job, None)
        self._ordered.discard(job)

    def rate(self, job: Job, value: float) -> None:
        """Set a job's speed / |unread|: how often a second it asks for any one row."""
        if not (isfinite(value) and value >= 0):
            raise BadArgument(f"rate {value} of job {job!r} is not valid; give a number >= 0")
        self._reader(job).rate = value

    def plan(self, homes: Iterable[int], tick: int) -> None:
        """Note in which tick rows will be asked for; this replaces what was known."""
        self.plans.update(dict.fromkeys(homes, tick))

    def unplan(self, homes: Iterable[int]) -> None:
        """Note that no use of these rows is known any more."""
        for home in self.plans.keys() & homes:
            del self.plans[home]

    def needed(self, job: Job, home: int) -> bool:
        """Tell whether the job will still ask for a row in its pass."""
        return self._reader(job).needs.has(home)

    def needed_each(self, job: Job, homes: Samples) -> Flags:
        """Tell of each row whether the job will still ask for it in its pass."""
        return self._reader(job).needs.has_each(homes)

    def anybody_needs(self, home: int) -> bool:
        """Tell whether any job will still ask for a row."""
        return any(reader.needs.has(home) for reader in self._reading.values())

    def counts(self, homes: Samples) -> npt.NDArray[np.int64]:
        """Return how many jobs will still ask for each row."""
        counts = np.zeros(len(homes), np.int64)
        for reader in self._reading.values():
            counts += reader.needs.has_each(homes)
        return counts

    def rates(self, homes: Samples) -> npt.NDArray[np.float64]:
        """Return how often a second each row is expected to be asked for; 0: no job needs it.

        If its next use is known, this is one over the seconds until then.
        """
        rates = self._rates(homes, but=self._ordered)
        if self._ordered and self.forecast is not None:
            away_s = self.forecast.seconds_until(homes)
            unknown = np.isnan(away_s)
            if unknown.any():
                rates[unknown] = self._rates(homes[unknown])
                away_s[unknown] = np.inf
            np.maximum(rates, 1 / np.maximum(away_s, _SOON_S), out=rates)
        return rates

    def _rates(self, homes: Samples, but: Collection[Job] = ()) -> npt.NDArray[np.float64]:
        rates = np.zeros(len(homes), np.float64)
        for job, reader in self._reading.items():
            if job not in but:
                rates += max(reader.rate, _LEAST_RATE) * reader.needs.has_each(homes)
        return rates

    def rate_of(self, home: int) -> float:
        """Return the same for one row."""
        if not self._ordered or self.forecast is None:
            return self._rate_of(home)
        away_s = self.forecast.seconds_until_one(home)
        if isnan(away_s):
            return self._rate_of(home)
        return max(self._rate_of(home, but=self._ordered), 1 / max(away_s, _SOON_S))

    def _rate_of(self, home: int, but: Collection[Job] = ()) -> float:
        rate = 0.0
        for job, reader in self._reading.items():
            if job not in but and reader.needs.has(home):
                rate += max(reader.rate, _LEAST_RATE)
        return rate

    def unread(self, job: Job) -> int:
        """Return how many rows the job still needs in its pass."""
        return self._reader(job).needs.count

    def _reader(self, job: Job) -> _Reader:
        reader = self._readers.get(job)
        if reader is None:
            raise UnknownJob(f"job {job!r} never began a pass, or has left; call begin() first")
        return reader
