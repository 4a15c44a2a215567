"""Batches that are complete, handed to their jobs."""

import numpy as np

from joader.engine.plan import Drawn
from joader.engine.reader import Reader
from joader.engine.stock import Stock
from joader.engine.supply import Supply
from joader.engine.team import Teams
from joader.messages import Deliver

# Up to so many samples of a delivery are noted as read one by one: arrays cost more.
FEW = 4


class Deliveries:
    """What jobs are handed of a stock."""

    def __init__(self, stock: Stock, supply: Supply, teams: Teams) -> None:
        """Hand out of this stock."""
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
        if absent:
            samples = [sample for sample in samples if sample >= 0]
        failed: list[tuple[int, str]] = []
        if reader.window.failed:
            failed = [
                (p, reader.window.failed.pop(p)) for p in positions if p in reader.window.failed
            ]
            bad = {position for position, _ in failed}
            samples = [s for p, s in zip(positions, samples, strict=True) if p not in bad]
        self._note_read(reader, homes)
        prepared, shared = self._supply.claim(reader.job, samples)
        prepared += len(absent)
        reader.delivered += len(samples) + len(absent)
        reader.prepared += prepared
        reader.shared += shared
        reader.window.hold(samples)
        reader.stuck = False
        self._stock.out.append(
            Deliver(
                reader.job,
                np.array(positions, np.int64),
                np.array(samples, np.int64),
                np.array(self._cache.offsets(samples), np.int64),
                failed=tuple(failed),
                prepared=prepared,
                shared=shared,
                repeated=self._teams.repeated(reader.job),
                absent=np.array(absent, np.int64),
            )
        )

    def _note_read(self, reader: Reader, homes: list[int]) -> None:
        """Note that a job does not need these any more; of a rank, its whole team does not."""
        if reader.rows.distinct and isinstance(reader.plan, Drawn) and len(homes) > FEW:
            self._cache.read_each(reader.job, np.array(homes, np.int64))
            return
        needing = reader.job
        place = self._teams.find(reader.job)
        if place and place[0].lead.in_pass:
            needing = place[0].lead.job
        for home in homes:
            # A row that comes several times in a pass is needed until it came first.
            if self._cache.needed(needing, home):
                self._cache.read(needing, home)
