"""Rows as they are stored, kept in memory next to prepared samples, and prepared from again.

A *raw form* is a sample of the recipe without steps. It comes *along* with a preparation: a worker
reads the row anyway, and keeps it if it is told to. Nobody waits for it, so it gets a slot only if
less worthy samples leave for it, and else is dropped. A raw form is pinned while a worker prepares
its row from it. Jobs of the recipe without steps take raw forms like any other samples.

Invariant: `Preparation.raw` is pinned by it, or underway along with it, until the preparation ends.
Not here: what a form is worth (cache/two_forms.py).
"""

from collections.abc import Callable

from joader.cache.two_forms import Way
from joader.engine.recipes import Recipe
from joader.engine.stock import Preparation, Stock
from joader.messages import Prepared
from joader.statistics import RawStatistics


class RawForms:
    """The raw forms of a stock."""

    def __init__(self, stock: Stock) -> None:
        """Start without any."""
        self._stock, self._forms = stock, stock.forms
        self._ways: dict[Recipe, Way] = {}
        self._used = 0
        self._unwanted: set[int] = set()  # decided against; their workers do not know yet
        self.on_lost: Callable[[int, str], None]  # called for raw forms that will not come

    def statistics(self) -> RawStatistics:
        """Return how many raw forms are here, and how many preparations started from one."""
        return RawStatistics(*self._forms.raw_here(), self._used)

    # Recipes come and go.

    def enter(self, recipe: Recipe) -> None:
        """Look after a recipe, if its rows are read apart."""
        if recipe.raw is not None and recipe not in self._ways:
            sizes, raw_sizes = recipe.sizes, recipe.raw.sizes
            way = Way(
                base=recipe.base,
                raw_base=recipe.raw.base,
                row_limit=recipe.row_limit,
                prepared_bytes=lambda: sizes.usual_bytes,
                raw_bytes=lambda: raw_sizes.usual_bytes,
                uses_per_s=lambda: self._uses_per_s(recipe),
                fresh=lambda: recipe.fresh_readers > 0,
            )
            self._ways[recipe] = self._forms.add(way)

    def _uses_per_s(self, recipe: Recipe) -> float:
        readers = self._stock.readers.values()
        mine = (one for one in readers if one.recipe is recipe and one.rows.rows.size)
        return sum(one.pace.per_s / one.rows.rows.size for one in mine)

    def pay(self, recipe: Recipe) -> bool:
        """Tell whether rows of a recipe are worth keeping as they are stored."""
        way = self._ways.get(recipe)
        return way is not None and way.pays

    def leave(self, recipe: Recipe) -> None:
        """Forget a recipe, all samples of which are gone."""
        if self._ways.pop(recipe, None) is not None:
            self._forms.remove(recipe.base)

    # Preparations begin and end.

    def begin(self, preparation: Preparation) -> None:
        """Let a preparation start from the raw form of its row, or bring that along."""
        way = self._ways.get(preparation.recipe)
        recipe, row, stock = preparation.recipe.raw, preparation.row, self._stock
        if way is None or recipe is None:
            return
        raw = self._forms.raw_of(way, row)
        if raw is not None:
            stock.cache.lease(raw)
            self._used += 1
        elif way.raw_base + row not in stock.table.first and self._forms.wants_raw(
            way, row, recipe.sizes.of(row) or recipe.sizes.usual_bytes
        ):
            raw = stock.table.add(way.raw_base + row)
            along = Preparation(recipe, row, preparation.job, preparation.origin, recipe.sizes)
            along.along = True
            stock.begin_along(raw, along)
        preparation.raw = raw

    def note(self, event: Prepared) -> None:
        """Note how long rows took to read, and to prepare."""
        if not self._ways or event.seconds <= 0.0:
            return
        each = [self._stock.underway[sample] for sample in event.samples]
        prepared = [one for one in each if one.source is None and not one.along]
        way = self._ways.get(prepared[0].recipe) if prepared else None
        if way is not None:
            # Without the time in which it waited for a processor, if that is known.
            worked_s = event.computed_s + event.waited_s if event.computed_s >= 0.0 else 0.0
            prepare_s = max(0.0, (worked_s or event.seconds) - event.read_s - event.own_s)
            way.note(event.read_s, event.reads, prepare_s, len(prepared))

    def settle(self, sample: int, preparation: Preparation, raw_bytes: int) -> Recipe | None:
        """Decide whether to keep the raw form that came along; `raw_bytes` is its size.

        Return the raw form's recipe if this made the size of its samples known.
        """
        raw, way, stock = preparation.raw, self._ways[preparation.recipe], self._stock
        assert raw is not None
        preparation.raw = None
        if raw not in stock.underway:
            stock.cache.release(raw)
            size = stock.table.size.cells[raw]
            keeps = self._forms.keeps_raw(way, preparation.row, sample, raw, size)
            if not keeps and stock.cache.may_leave(raw):
                stock.drop(raw)
            return None
        if not raw_bytes:
            self._never_comes(raw)
            return None
        along = stock.underway[raw]
        stock.unplaced[raw] = raw_bytes
        if not self._forms.keeps_raw(way, preparation.row, sample, raw, raw_bytes):
            self._unwanted.add(raw)
        if along.sizes.slot_bytes:
            return None
        along.sizes.note(raw_bytes, along.row)
        return along.recipe

    def place(self, raw: int, size_bytes: int) -> bool:
        """Give a raw form without takers a slot if it is worth one; tell whether it got one."""
        if raw in self._unwanted:
            self._unwanted.remove(raw)
            return False
        placed, gone = self._stock.cache.reserve_if_worth(raw, size_bytes)
        self._stock.forget(gone)
        return placed

    def let_go(self, preparation: Preparation) -> None:
        """Release the raw form that a failed preparation holds."""
        raw, preparation.raw = preparation.raw, None
        if raw is None:
            return
        if raw in self._stock.underway:
            self._never_comes(raw)
        else:
            self._stock.cache.release(raw)

    def _never_comes(self, raw: int) -> None:
        """Forget a raw form that no worker has, or have it prepared if a job waits for it."""
        along = self._stock.underway[raw]
        along.along = False
        if self._stock.wanted(raw):
            self._stock.say_again(raw)
            return
        if along.followers:  # only here is it known that they wait in vain
            self._stock.call_off(raw)
        self.on_lost(raw, "no job wants it any more")
