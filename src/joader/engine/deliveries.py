"""Delivers complete batches to their jobs, and takes released samples back."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from joader.cache import NOBODY
from joader.engine.plan import Drawn
from joader.engine.reader import Reader
from joader.engine.stock import Stock
from joader.engine.supply import Supply
from joader.engine.teams import Teams
from joader.messages import Deliver

# Up to this number samples are noted as read, or given back, one by one: arrays cost more.
FEW = 32


class Deliveries:
    """The samples of a stock that jobs hold."""

    def __init__(self, stock: Stock, supply: Supply, teams: Teams) -> None:
        """Deliver samples of this stock."""
        self._stock, self._supply, self._teams = stock, supply, teams
        self._cache = stock.cache

    def hand_out(self) -> bool:
        """Deliver every batch that is complete; tell whether there was one."""
        delivered = False
        for reader in self._stock.readers.values():
            while (count := reader.due()) is not None:
                self._deliver(reader, count)
                delivered = True
        return delivered

    def _deliver(self, reader: Reader, count: int) -> None:
        absent: list[int] = []
        if reader.terms.reads_itself:
            absent = self._supply.take_what_is_here(reader, count)
        positions, homes, samples = reader.take(count)
        if absent:  # their positions stay: the reader fills those places by itself
            samples = [sample for sample in samples if sample >= 0]
        # What failed has no bytes, but its position goes out: the client does what on_error says.
        failed: list[tuple[int, str]] = []
        if reader.window.failed:
            failed = [
                (p, reader.window.failed.pop(p)) for p in positions if p in reader.window.failed
            ]
            bad = {position for position, _ in failed}
            samples = [s for p, s in zip(positions, samples, strict=True) if p not in bad]
        self._note_read(reader, homes)
        here = np.array(samples, np.int64)
        prepared, shared = self._claim(reader, here)
        prepared += len(absent)  # or hits and prepared would not add up to what is delivered
        reader.delivered += len(samples) + len(absent)
        reader.prepared += prepared
        reader.shared += shared
        reader.window.hold(samples)
        reader.stuck = False
        self._stock.out.append(
            Deliver(
                reader.job,
                np.array(positions, np.int64),
                here,
                self._stock.table.offset.all[here],
                failed=tuple(failed),
                prepared=prepared,
                shared=shared,
                repeated=self._teams.repeated(reader.job),
                absent=np.array(absent, np.int64),
            )
        )

    def _claim(self, reader: Reader, samples: NDArray[np.int64]) -> tuple[int, int]:
        """Count deliveries: the first of a preparation is "prepared", every other a hit.

        Return how many count as prepared for this job, and how many as prepared for another.
        """
        claimed = self._stock.table.claimed.all
        # A sample may come several times in a batch; it is prepared once.
        new = np.unique(samples[claimed[samples] == NOBODY])
        whose = claimed[samples]
        others = whose[(whose != reader.job) & (whose != NOBODY)]
        if others.size:
            reader.taken_from.update(others.tolist())
        claimed[new] = reader.job
        return new.size, others.size

    def _note_read(self, reader: Reader, homes: list[int]) -> None:
        """Note that a job, or the whole team of a rank, does not need these any more."""
        if reader.rows.distinct and isinstance(reader.plan, Drawn) and len(homes) > FEW:
            self._cache.read_each(reader.job, np.array(homes, np.int64))
            return
        needing = reader.job
        place = self._teams.find(reader.job)
        if place and place[0].lead.in_pass:
            needing = place[0].lead.job
        for home in homes:
            # A row that comes several times in a pass counts as needed until its first delivery.
            if self._cache.demand.needed(needing, home):
                self._cache.read(needing, home)

    def note_read_by_others(self, reader: Reader, positions: NDArray[np.int64] | None) -> None:
        """Note that other ranks read these positions, if any, instead of this one."""
        if positions is None:
            return
        homes = reader.recipe.base + reader.rows.rows[positions].astype(np.int64)
        demand = self._cache.demand
        needed = np.unique(homes[demand.needed_each(reader.job, homes)])
        self._cache.read_each(reader.job, needed)

    def release(self, reader: Reader, samples: list[int]) -> None:
        """Note that a job has copied these samples; BadArgument if it does not hold them."""
        reader.window.let_go(reader.job, samples)
        self._let_go(samples)

    def release_all(self, reader: Reader) -> None:
        """Release all that a job holds; it is gone."""
        self._let_go(list(Counter(reader.window.held).elements()))

    def _let_go(self, samples: list[int]) -> None:
        if len(samples) > FEW:
            here, table = np.array(samples, np.int64), self._stock.table
            own = table.own.all[here] > 0
            if not own.any():
                self._cache.release_each(here)
                return
            # Own parts that are read once go with their batch.
            if own.all() and (table.pins.all[here] == 1).all() and _are_distinct(samples):
                self._cache.release_and_drop(samples)
                self._stock.forget(samples)
                return
        for sample in samples:
            self._cache.release(sample)
            self._stock.drop_if_own(sample)


def _are_distinct(samples: list[int]) -> bool:
    return len(set(samples)) == len(samples)
