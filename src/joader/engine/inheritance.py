"""What a leaving node has to hand over, and how much of that a staying node has room for.

The daemon asks by the names of recipes; nothing is changed here. Samples that another node keeps,
too, are not handed over, nor are those of one job alone.
"""

import numpy as np
from numpy.typing import NDArray

from joader.cache import READY
from joader.engine.recipes import Recipes
from joader.engine.stock import Stock
from joader.messages import Array
from joader.messages.fields import NONE


class Inheritance:
    """Looks at a stock, for a node that leaves or one that stays."""

    def __init__(self, stock: Stock, recipes: Recipes) -> None:
        """Look at these samples."""
        self._stock, self._recipes = stock, recipes

    def last_copies(self, name: str) -> Array:
        """Return the rows of a recipe that are ready here and, as far as is known, nowhere else."""
        return self._ready_rows(name, copied=0)

    def copies(self, name: str) -> Array:
        """Return the rows of a recipe that are ready here and that another node keeps, too."""
        return self._ready_rows(name, copied=1)

    def _ready_rows(self, name: str, copied: int) -> Array:
        recipe = self._recipes.find(name)
        if recipe is None:
            return NONE
        table, instances = self._stock.table, self._stock.instances
        ready = (table.state.all == READY) & (table.own.all == 0) & (table.copied.all == copied)
        kept = [one for one in np.flatnonzero(ready).tolist() if not instances.is_fresh(one)]
        rows = table.home.all[kept] - recipe.base
        return np.unique(rows[(rows >= 0) & (rows < recipe.row_limit)])

    def ready(self, name: str, rows: Array) -> NDArray[np.bool_]:
        """Tell which rows of a recipe have a ready sample that any job may get."""
        recipe = self._recipes.find(name)
        if recipe is None or not rows.size:
            return np.zeros(rows.size, np.bool_)
        table = self._stock.table
        samples = np.array(table.firsts_of((rows + recipe.base).tolist()), np.int64)
        return np.asarray((samples >= 0) & (table.state.all[samples] == READY), np.bool_)

    def absent(self, name: str, rows: Array) -> Array:
        """Return the given rows that are not here; those that jobs will ask for soon come first."""
        recipe = self._recipes.find(name)
        if recipe is None or not rows.size:
            return NONE
        homes = rows + recipe.base
        absent = homes[np.array(self._stock.table.firsts_of(homes.tolist())) < 0]
        soonest = np.argsort(-self._stock.cache.demand.rates(absent), kind="stable")
        return np.asarray(absent[soonest] - recipe.base, np.int64)

    def room(self, name: str) -> int:
        """Return how many rows fit without the loss of samples that are worth as much.

        Samples that another node keeps, too, may leave for a last copy, and so may those of recipes
        without readers. Those read in this pass may not: jobs may read them in the next.
        """
        recipe = self._recipes.find(name)
        if recipe is None or not recipe.sizes.usual_bytes:
            return 0
        cache, table = self._stock.cache, self._stock.table
        may_leave = np.flatnonzero((table.state.all == READY) & (table.pins.all == 0))
        homes, worth_less = table.home.all[may_leave], table.copied.all[may_leave] == 1
        unread = np.ones(may_leave.size, np.bool_)
        for one in self._recipes.in_reading():
            unread &= (homes < one.base) | (homes >= one.base + one.row_limit)
        free_bytes = cache.capacity_bytes - cache.used_bytes - self._stock.promised_bytes
        free_bytes += int(table.size.all[may_leave[worth_less | unread]].sum())
        return max(0, free_bytes) // recipe.sizes.usual_bytes
