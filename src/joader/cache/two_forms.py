"""Rows in two forms: *raw*, as they are stored, and *prepared*. Which of them is worth its memory.

A raw form is a sample like any other, of the recipe that has no steps. It saves the next reading (r
seconds) in b bytes; a prepared sample saves reading and preparation (r + p) in B bytes, mostly
more. What a form saves, times how often it will be used per second, over its bytes, is what it is
*worth*. What is worth least leaves first; its worth is the *price* of memory. Of a sample that was
just used, the form is kept whose worth exceeds the price of its bytes by most, or none (`chosen`).
So if reads are expensive, memory fills with raw samples as long as not all fit, and with prepared
ones from then on (Seneca's partition); rows of other costs or sizes are each judged by their own.

How *soon* a sample is used does not count, only how often: a sample that is used once per pass has
to be here when the pass ends, whether it was used long before or a moment ago. Of forms that are
worth the same, the one that is used last leaves first.

The engine applies this through `TwoForms`. The *ratio* r/b over (r + p)/B says how many times as
often a prepared sample would have to be used to be worth as much as its raw form; it multiplies the
rate of expected uses by which samples are ranked (eviction/expected_use.py). If its raw form is
here, a prepared sample saves only p and counts for that part. So both forms compete in one order
with the samples of all other recipes.

Memory costs nothing while there is *room*: what is free, and what prepared samples take whose raw
form is here. Then the prepared form is kept; with less room than ROOM_PART the raw one, if a byte
of it saves more. A row that other recipes prepare, too, keeps its raw form in any case, and so does
one that is prepared again each time because its steps are random. If reading takes less than
LEAST_READ_S per row (the page cache), raw forms are not considered.

Only for storages that joader reads itself: a dataset that reads and decodes in one call has one
form. papers/simulators/two_forms.py uses `chosen` as it is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.cache.cache import Cache
from joader.cache.table import READY

RAW, PREPARED = "raw", "prepared"


class Costs(NamedTuple):
    """Measured costs of one sample, in both forms."""

    read_s: float
    prepare_s: float
    raw_bytes: int
    prepared_bytes: int

    def saved_s(self, form: str) -> float:
        """Return the seconds of work that this form saves."""
        return self.read_s if form == RAW else self.read_s + self.prepare_s

    def size_bytes(self, form: str) -> int:
        """Return how much memory it takes."""
        return self.raw_bytes if form == RAW else self.prepared_bytes


# Keeping a raw form costs about 0.2 ms: messages, and two copies.
LEAST_READ_S = 0.0005
# Rows that are timed before costs count: the first ones open files and connections.
LEAST_TIMED = 16
ROOM_PART = 1 / 16
# Samples used within one part in SOON of a pass are worth more the sooner they are used.
SOON = 8.0
# By which power of two, at most, the worth of all other samples rises if they are used sooner.
TRIFLE = 0.25
# How much of what was measured remains with each further report.
_FADING = 0.95


@dataclass(eq=False)
class Way:
    """One way to prepare rows of which raw forms may be kept: a recipe's numbers, and costs."""

    base: int  # of the recipe's rows
    raw_base: int  # of the rows as they are stored
    row_limit: int
    prepared_bytes: Callable[[], int]  # how large its samples usually are
    raw_bytes: Callable[[], int]  # … and their raw forms; 0 while that is not known
    uses_per_s: Callable[[], float]  # how often any one row is used
    fresh: Callable[[], bool] = bool  # prepared samples are used once: steps are random
    timed: int = 0
    _read_s: float = 0.0
    _reads: float = 0.0
    _prepare_s: float = 0.0
    _rows: float = 0.0

    def note(self, read_s: float, reads: int, prepare_s: float, rows: int) -> None:
        """Note how long rows took to read, and how long to prepare."""
        self.timed += reads
        if reads:
            self._read_s, self._reads = (
                _FADING * self._read_s + read_s,
                _FADING * self._reads + reads,
            )
        self._prepare_s = _FADING * self._prepare_s + prepare_s
        self._rows = _FADING * self._rows + rows

    @property
    def costs(self) -> Costs:
        """Recent costs of a row; `raw_bytes` is filled in by the caller."""
        read_s = self._read_s / self._reads if self._reads else 0.0
        return Costs(read_s, self._prepare_s / max(self._rows, 1e-9), 0, self.prepared_bytes())

    @property
    def pays(self) -> bool:
        """Whether reading takes long enough for raw forms to be considered."""
        return self.timed >= LEAST_TIMED and self.costs.read_s >= LEAST_READ_S

    @property
    def competes(self) -> bool:
        """Whether raw forms may be worth more than samples, as far as is known."""
        raw_bytes = self.raw_bytes()
        return self.pays and (self.fresh() or not raw_bytes or self.ratio(raw_bytes) > 1.0)

    def ratio(self, raw_bytes: int) -> float:
        """Return how much more a byte of a raw form of this size saves than one of a sample."""
        costs = self.costs._replace(raw_bytes=max(1, raw_bytes))
        if not costs.prepared_bytes or not costs.read_s:
            return 0.0
        return worth(costs, RAW) / worth(costs, PREPARED)


class TwoForms:
    """The recipes whose rows may be kept raw, and the bytes of the choices made so far."""

    def __init__(self, cache: Cache) -> None:
        """Start without any."""
        self._cache, self._table, self._demand = cache, cache.table, cache.demand
        self._ways: dict[int, Way] = {}  # by base
        # Prepared samples whose raw form was chosen: their bytes, and that.
        self._spent: dict[int, tuple[int, int]] = {}
        self._spent_for: dict[int, int] = {}  # by raw form
        self._spent_bytes = 0

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._ways)

    def add(self, way: Way) -> Way:
        """Include a recipe."""
        self._ways[way.base] = way
        self._demand.weigh = self.weigh
        return way

    def remove(self, base: int) -> None:
        """Forget a recipe."""
        self._ways.pop(base, None)
        if not self._ways:
            self._demand.weigh = None

    def others(self, way: Way, row: int) -> bool:
        """Tell whether another recipe needs a row and has no sample of it."""
        others = [one for one in self._ways.values() if one.raw_base == way.raw_base]
        return any(
            one is not way
            and self._demand.anybody_needs(one.base + row)
            and self._ready(one.base + row) is None
            for one in others
        ) or self._demand.anybody_needs(way.raw_base + row)

    @property
    def has_room(self) -> bool:
        """Whether memory costs nothing now: see the module's docstring."""
        cache = self._cache
        room = cache.full_bytes - cache.used_bytes + self._spent_bytes
        return room > ROOM_PART * cache.capacity_bytes

    def wants_raw(self, way: Way, row: int, raw_bytes: int) -> bool:
        """Tell whether a worker that reads a row should keep it; `raw_bytes`: 0 if not known."""
        if not way.pays:
            return False
        if way.fresh():
            return True
        tight = not self.has_room and (not raw_bytes or way.ratio(raw_bytes) > 1.0)
        return tight or self.others(way, row)

    def keeps_raw(self, way: Way, row: int, sample: int, raw: int, raw_bytes: int) -> bool:
        """Decide for a raw form or, if False, against it, once its row was prepared."""
        if (way.pays and way.fresh()) or self.others(way, row):
            return True
        if not way.pays or self.has_room or way.ratio(raw_bytes) <= 1.0:
            return False
        self._spend(sample, raw)
        return True

    def _spend(self, sample: int, raw: int) -> None:
        self.gone((sample, raw))
        size = self._table.size.cells[sample]
        self._spent[sample], self._spent_for[raw] = (size, raw), sample
        self._spent_bytes += size

    def gone(self, samples: Iterable[int]) -> None:
        """Note that samples have left, in either form."""
        for one in samples if self._spent else ():
            spent = self._spent.pop(self._spent_for.get(one, one), None)
            if spent is not None:
                self._spent_bytes -= spent[0]
                del self._spent_for[spent[1]]

    def weigh(self, samples: list[int], rates: NDArray[np.float64]) -> None:
        """Turn the rates at which samples are used into what they save over their other form.

        A raw form is used whenever its row is prepared in any way.
        """
        homes, sizes = self._table.home.all[samples], self._table.size.all[samples]
        for way in self._ways.values():
            usual = way.uses_per_s() if way.competes else 0.0
            if not usual:
                continue
            raw = np.flatnonzero((homes >= way.raw_base) & (homes < way.raw_base + way.row_limit))
            if raw.size:
                uses = np.full(raw.size, usual)
                if not way.fresh():
                    uses = self._demand.rates(homes[raw] - way.raw_base + way.base)
                ratios = [way.ratio(size) for size in sizes[raw].tolist()]
                rates[raw] += _evened(uses, usual) * np.array(ratios)
            mine = np.flatnonzero((homes >= way.base) & (homes < way.base + way.row_limit))
            rates[mine] = _evened(rates[mine], usual)
            costs = way.costs
            part = costs.prepare_s / (costs.read_s + costs.prepare_s)
            for place in mine.tolist():
                if self._ready(int(homes[place]) - way.base + way.raw_base) is not None:
                    rates[place] *= part

    def raw_here(self) -> tuple[int, int]:
        """Return how many raw forms are here, and their bytes."""
        table = self._table
        ready = np.flatnonzero(table.state.all == READY) if self._ways else np.empty(0, np.int64)
        homes, found = table.home.all[ready], np.zeros(ready.size, np.bool_)
        for way in self._ways.values():
            found |= (homes >= way.raw_base) & (homes < way.raw_base + way.row_limit)
        return int(found.sum()), int(table.size.all[ready[found]].sum())

    def raw_of(self, way: Way, row: int) -> int | None:
        """Return the raw form of a row, if it is here."""
        return self._ready(way.raw_base + row)

    def _ready(self, home: int) -> int | None:
        first = self._table.first.get(home)
        return first if first is not None and self._table.state.cells[first] == READY else None


def _evened(rates: NDArray[np.float64], usual: float) -> NDArray[np.float64]:
    """Level rates of use, except for samples used soon; a trifle orders the rest.

    A sample used once per pass has to be here when the pass ends, whether that is soon or not. So
    the order of use only decides between forms that are worth the same.
    """
    soon = SOON * usual
    with np.errstate(divide="ignore"):
        nearness = np.clip(1.0 + np.log2(rates / soon) / (2.0 * np.log2(SOON)), 0.0, 1.0)
    evened = usual * 2.0 ** (TRIFLE * nearness)
    evened *= np.maximum(rates / soon, 1.0)
    return np.where(rates > 0.0, evened, 0.0)


def worth(costs: Costs, form: str, uses_per_s: float = 1.0) -> float:
    """Return what a form saves per second and byte."""
    return costs.saved_s(form) * uses_per_s / costs.size_bytes(form)


def chosen(costs: Costs, price: float, uses_per_s: float = 1.0) -> str | None:
    """Return the form to keep at a price per byte; None if neither earns it."""
    best, most = None, 0.0
    for form in (RAW, PREPARED):
        earned = (worth(costs, form, uses_per_s) - price) * costs.size_bytes(form)
        if earned > most:
            best, most = form, earned
    return best
