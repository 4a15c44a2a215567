"""Planning in ticks: how many draws each job gets, decided before any row is drawn.

In a stream each reader draws for itself when it runs low, as far ahead as it looks. Jobs share
because they follow one order; drawing far ahead of reading would only part them.

Under joint draws all readers that share a sampler draw together when one runs low, each as many as
it reads in the same time. So jobs that are out of step share in two ways:
- Rounds are shared. When each reader was topped up to a number of its own instead, two equal jobs
  whose batches end at different moments drew a third of their rounds alone.
- A row that several draw in one round is read by all of them at about the same time, so it has
  to be kept for a moment only. Plans are as long for a slow job as for a fast one, in seconds.
Readers' paces are estimates, so plans drift apart; a reader whose plan is too long sits out. A tick
that would go past the end of some reader's pass is split there.

The cache is told what is planned, so that it keeps what is about to be read. On demand (limits.py)
a tick is what is wanted at one moment.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from math import ceil, log

import numpy as np

from joader.cache import Cache
from joader.engine.limits import Limits
from joader.engine.plan import Drawn, Followed
from joader.engine.reader import Reader
from joader.engine.room import Room
from joader.sampling import Sampler

# Plans in look-aheads of the reader whose look-ahead takes longest: a reader with less than 1 runs
# low and is filled up to FULL, and what is drawn then is drawn without jobs that begin a pass
# meanwhile; no reader gets more than MOST.
FULL = 1.5
MOST = 4.0
# Paces that differ by less than the root of this count as equal.
STEP = 1.5
# The longest plan, in look-aheads of its own reader, however slow the others are.
LONGEST = 8.0


class Planner:
    """Draws for all readers, and tells the cache what they will read next."""

    def __init__(self, cache: Cache) -> None:
        """Start without plans."""
        self._cache = cache
        self._told: dict[Sampler, set[int]] = {}  # samples the cache knows to be planned
        self._ticks = 0

    def top_up(self, readers: Sequence[Reader]) -> None:
        """Draw for those that run low, and those they draw with."""
        low = [reader for reader in readers if reader.runs_low]
        if low:
            self._forget_all_but({_sampler(reader) for reader in readers})
        drawn: list[Reader] = []
        for reader in low:
            if reader.runs_low:  # still, after those before it
                together = [other for other in readers if other.draws_with(reader)]
                # Of the passes in one name (samplers.py) only the latest has something to draw.
                _draw([other for other in together if other.plan.undrawn])
                self._tell(together)
                drawn += together
        self._tell_rates(drawn)

    def limit_look_ahead(self, readers: Collection[Reader], limits: Limits) -> None:
        """Leave most of the memory to what has been read and is still needed by others.

        Look-ahead keeps workers and jobs from waiting for each other, for which little is enough;
        the rest of the memory is what jobs out of step share.
        """
        if not limits.share_batches:
            return
        here = sum(not reader.terms.remote for reader in readers)
        parts = limits.ahead_part * max(here, 1)
        part_bytes = self._cache.capacity_bytes // parts
        for reader in readers:
            if reader.sizes.slot_bytes:
                reader.most_ahead = part_bytes // reader.sizes.usual_bytes

    def plan_again(self, newcomer: Reader, readers: Sequence[Reader], room: Room) -> None:
        """Take back what is planned for the readers that the newcomer will draw with.

        Jobs that are started together arrive within seconds. Planned alone, the first would be a
        look-ahead in front of the others for the whole pass, and share that much less with them.
        Only arrivals do this, not every pass: what was prepared ahead may be of no use for a while.
        """
        for reader in readers:
            if reader is not newcomer and reader.draws_with(newcomer):
                _plan_again(reader, room)

    def note_come(self, reader: Reader, readers: Iterable[Reader]) -> None:
        """Tell the cache of what another node has drawn for a reader."""
        self._tell([one for one in readers if one.draws_with(reader)])
        self._tell_rates([reader])

    def behind(self, newcomer: Reader, readers: Sequence[Reader]) -> int:
        """Return how far other readers are behind their draws: those rows are in memory."""
        windows = (len(one.window.places) for one in readers if one.draws_with(newcomer))
        return max(windows, default=0)

    def _tell_rates(self, readers: list[Reader]) -> None:
        """Tell the cache how soon each reader will ask for a sample it needs."""
        for reader in readers:
            if reader.in_pass:
                unread = reader.plan.undrawn + len(reader.window.places)
                self._cache.rate(reader.job, reader.pace.per_s / max(unread, 1))

    def _tell(self, readers: Sequence[Reader]) -> None:
        """Tell the cache of new plans, and of old ones that were read or taken back.

        A sample counts as planned until the next tick of its readers. What was planned earlier is
        read earlier; within one tick the order does not matter.
        """
        self._ticks += 1
        sampler = _sampler(readers[0])
        planned = {home for reader in readers for home in reader.window.homes}
        told = self._told.get(sampler, set())
        self._cache.unplan(told - planned)
        self._cache.plan(planned - told, self._ticks)
        self._told[sampler] = planned

    def _forget_all_but(self, samplers: set[Sampler]) -> None:
        """Take back the plans of samplers that have no readers any more."""
        for sampler in [other for other in self._told if other not in samplers]:
            self._cache.unplan(self._told.pop(sampler))


def _plan_again(reader: Reader, room: Room) -> None:
    assert isinstance(reader.plan, Drawn)
    if reader.in_pass and reader.window.places and reader.plan.may_be_drawn_again:
        planned = np.array(reader.window.places, np.int64)
        room.give_up_all(reader)
        reader.window.forget_plan()
        reader.plan.begin_again(planned, reader.epoch)


def _sampler(reader: Reader) -> Sampler:
    assert isinstance(reader.plan, Drawn)
    return reader.plan.sampler


def _name(reader: Reader) -> Hashable:
    assert isinstance(reader.plan, Drawn)
    return reader.plan.name


def _draw(readers: Sequence[Reader]) -> None:
    """Draw jointly until each has what it is due."""
    by_name = {_name(reader): reader for reader in readers}
    needs = {_name(reader): count for reader, count in _due(readers)}
    while needs := {name: n for name, n in needs.items() if n > 0 and by_name[name].plan.undrawn}:
        counts = _until_first_end(needs, {name: by_name[name].plan.undrawn for name in needs})
        for name, numbers in _sampler(readers[0]).draw(counts).items():
            by_name[name].drew(numbers)
            needs[name] -= numbers.size


def _due(readers: Sequence[Reader]) -> Iterator[tuple[Reader, int]]:
    """Return how many draws each gets in a tick."""
    if not readers[0].share:
        for reader in readers:
            yield reader, reader.window.wanted - len(reader.window.places)
        return
    if isinstance(readers[0].plan, Followed):
        for reader in readers:
            if reader.runs_low:
                yield reader, ceil(FULL * reader.look_ahead) - len(reader.window.places)
        return
    pace = _paces(readers)
    # One horizon in time for all: by rows, a slow job would hold as many as a fast one.
    horizon_s = max(reader.look_ahead / pace[reader.job] for reader in readers)
    full = {r.job: min(pace[r.job] * horizon_s, LONGEST * r.look_ahead) for r in readers}
    # Who runs low says how long the tick is; all others take part in what comes in that time.
    tick_s = max(
        (FULL * full[reader.job] - len(reader.window.places)) / pace[reader.job]
        for reader in readers
        if reader.runs_low
    )
    for reader in readers:
        most = ceil(MOST * full[reader.job]) - len(reader.window.places)
        yield reader, min(ceil(pace[reader.job] * tick_s), most)


def _paces(readers: Sequence[Reader]) -> dict[int, float]:
    """Return the readers' paces in steps, and of newcomers the fastest.

    Jobs that were started together have the same rows left as long as they draw equally many; once
    they have not, they share less to the end of the pass. So equal jobs must count as equal.
    """
    fastest = max((reader.pace.per_s for reader in readers if reader.pace.known), default=1.0)
    return {
        reader.job: fastest * STEP ** round(log(reader.pace.per_s / fastest, STEP))
        if reader.pace.known
        else fastest
        for reader in readers
    }


def _until_first_end(
    needs: dict[Hashable, int], undrawn: dict[Hashable, int]
) -> dict[Hashable, int]:
    """Return what each takes until the first reaches the end of its pass, all at their own pace."""
    short = min(needs, key=lambda name: undrawn[name] / needs[name])
    if undrawn[short] >= needs[short]:
        return needs
    return {
        name: min(undrawn[name], -(-need * undrawn[short] // needs[short]))
        for name, need in needs.items()
    }
