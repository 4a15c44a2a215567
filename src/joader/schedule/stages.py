"""Rows that wait and rows that compute: how many of each at once (Lobster's balance of stages).

A stage is what a row does, not a thread that does it: it *waits* for a disk or a network, or it
*computes*; workers measure which (wall time less processor time). So it works for a dataset that
reads and decodes in one `__getitem__`, too. Rows computing at once are bounded by processors and
their knee (feeding.py, knee.py). Rows waiting at once are bounded by what jobs have lent, by the
memory that each has reserved for its sample, and by the knee of their storage.

A worker that runs a dataset waits for one row at a time: more of them run while rows wait. joader's
own storages read many of the rows that a worker has in hand (storage/expected.py): there each
worker is told how many at a time, and gets more rows, but no more than it can compute soon; others
could do them.

Storages are told apart by recipe: recipes that read one storage climb each for itself. A
recipe whose rows compute most of the time has no limit here.
"""

from collections.abc import Mapping
from math import inf

from joader.schedule.limits.pace import CHUNK_S, KEEPS_READING_AHEAD
from joader.schedule.limits.storage_knee import StorageKnee
from joader.schedule.shares.demand import Demand
from joader.schedule.work.crew import Crew
from joader.schedule.work.staff import Staff

# Rows whose workers compute less than this part of their time wait; they do until it is more than
# the other.
_WAITS = 0.5
_COMPUTES = 0.7
# A job waits for rows if its batches take this many times as long as without waiting.
_STARVES = 1.1
# Rows that all workers together read ahead at first.
_FIRST_AHEAD = 16
# The most rows that a worker reads ahead: a storage's threads in one process.
MOST_AHEAD = 48
# Computing the rows that it has read ahead takes no longer than this many chunks.
_CHUNKS_AHEAD = 4


class Stages:
    """The rows of a staff that wait."""

    def __init__(self, staff: Staff, cores: int, demands: Mapping[int, Demand]) -> None:
        """Limit the rows `staff` has in flight, on `cores` cores; `demands` is keyed by job."""
        self._staff, self._cores, self._demands = staff, cores, demands

    def room(self, crew: Crew) -> float:
        """Return how many more rows of a crew's recipe may be in flight; below 0: fewer must."""
        knee = self._staff.storages.get(crew.code)
        return inf if knee is None else knee.limit - self._staff.in_flight(crew.code)

    def pass_time(self, now: float) -> None:
        """Note how many rows are in flight from now on."""
        storages = self._staff.storages
        for crew in self._staff.crews.values():
            if crew.reads_ahead and crew.jobs:
                if crew.code not in storages:
                    storages[crew.code] = StorageKnee(_FIRST_AHEAD)
                if not all(worker.at_once for worker in crew.workers):  # some were just started
                    self._read_ahead(self._group(crew.code), storages[crew.code].limit)
            elif 0.0 < crew.queue.computing < _WAITS and crew.jobs:
                knee = storages.setdefault(crew.code, StorageKnee())
                pace = crew.queue.shared.pace
                knee.waits(pace.row_s - pace.computing_s)
        for code in list(storages):
            knee = storages[code]
            if knee.pass_time(self._staff.in_flight(code), now):
                self._measure(code, knee, now)

    def _measure(self, code: str, knee: StorageKnee, now: float) -> None:
        """Let a storage's knee take in its window, and apply its limit."""
        group = self._group(code)
        ahead = any(crew.reads_ahead for crew in group)
        if not ahead and all(crew.queue.computing > _COMPUTES for crew in group):
            del self._staff.storages[code]  # also if it has no readers any more
            return
        knee.measure(self._could(group), any(map(self._starves, group)), now)
        if ahead:
            self._read_ahead(group, knee.limit)

    def _group(self, code: str) -> list[Crew]:
        return [one for one in self._staff.crews.values() if one.code == code and one.jobs]

    def _starves(self, crew: Crew) -> bool:
        demands = [self._demands[job] for job in crew.jobs if job in self._demands]
        return any(demand.slowdown > _STARVES for demand in demands)

    def _could(self, group: list[Crew]) -> range:
        """Return how many rows the crews of one recipe could have in flight."""
        if group[0].reads_ahead:
            workers = sum(len(crew.workers) for crew in group)
            return range(workers, 1 + sum(len(crew.workers) * _ahead(crew) for crew in group))
        lent = [crew.most or self._cores for crew in group]
        return range(1, 1 + min(sum(lent), max(self._cores, *lent)))

    def _read_ahead(self, group: list[Crew], limit: float) -> None:
        """Let each worker read its part of what may be in flight."""
        workers = [worker for crew in group for worker in crew.workers]
        part, more = divmod(int(limit), max(1, len(workers)))
        for place, worker in enumerate(workers):
            worker.at_once = max(1, min(MOST_AHEAD, part + (place < more)))
        for crew in group:
            # More than it reads at a time: when one has come the next begins, before the daemon
            # hears of it.
            keeps = max(KEEPS_READING_AHEAD, min(2 * (part + 1), _ahead(crew)))
            crew.queue.shared.pace.keep(keeps)


def _ahead(crew: Crew) -> int:
    """Return how many rows a worker may have read ahead."""
    if not crew.paced:
        return KEEPS_READING_AHEAD
    soon = int(_CHUNKS_AHEAD * CHUNK_S / crew.queue.shared.pace.computing_s)
    return max(KEEPS_READING_AHEAD, min(MOST_AHEAD, soon))
