"""Recipes: what jobs with equal preparations share, and which sample numbers are theirs.

A recipe has the numbers [base, base + row_limit), one per row. It is open while a job reads it or
a worker prepares for it, and after that while a sample of it is kept (stock.py): the next run of a
sweep finds what was prepared, as long as the room is not needed. Only the latest few recipes
without jobs stay open; when a recipe is closed, its numbers are free for another. Its name is free
sooner: once no job reads it, a dataset with another number of rows may have that name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from joader.engine.samplers import MakeSampler, Samplers, sampler_of
from joader.engine.sizes import Sizes
from joader.errors import BadArgument
from joader.messages import Hear
from joader.sampling.generation import Clock

# Row numbers of all recipes together, and so rows of a dataset.
MOST_ROWS = 1 << 31
# Recipes without jobs that stay open. Their samples are the first to go if room is needed.
MOST_KEPT = 16


@dataclass(eq=False)
class Recipe:
    """The samplers of its rows, a range of sample numbers, and the size of its samples."""

    name: str
    row_limit: int
    base: int
    samplers: Samplers
    sizes: Sizes = field(init=False)
    readers: int = 0
    underway: int = 0  # preparations
    fresh_readers: int = 0  # of them, those that get every sample once
    raw: "Recipe | None" = None  # of its rows as they are stored, if they are read apart
    feeds: int = 0  # recipes of whose rows it is the stored form
    left: bool = False  # its last job has left, and something of it is here

    def __post_init__(self) -> None:
        """Start with no size known."""
        self.sizes = Sizes(self.row_limit)

    @property
    def in_use(self) -> bool:
        """Whether a job reads it, a worker prepares for it, or it may feed another recipe."""
        return bool(self.readers or self.underway or self.feeds)


class Recipes:
    """All recipes that are open, by name."""

    def __init__(self, seed: int, make_sampler: MakeSampler = sampler_of) -> None:
        """Start without any; every recipe gets samplers of its own."""
        self._seed = seed
        self._make_sampler = make_sampler
        self._made = 0
        self._opened: dict[int, int] = {}  # generations of streams that a cluster has, by stream
        self._open: dict[str, Recipe] = {}
        self._replaced: list[Recipe] = []  # by others of the name; workers prepare for them yet

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._open) + len(self._replaced)

    def open(self, name: str, row_limit: int, stream: int = 0, stored: str = "") -> Recipe:
        """Return the recipe of this name, a new one if there is none.

        `stream`: where its streams start on all nodes of a cluster; one that is open keeps its own.
        `stored`: the name of the recipe of its rows as they are stored, if they are read apart.
        """
        recipe = self._open.get(name)
        if recipe is not None and not recipe.readers and recipe.row_limit != row_limit:
            self._note_opened(recipe)
            self._replaced.append(self._open.pop(name))
            recipe = None
        if recipe is None:
            base = self._free_base(row_limit)
            self._made += 1
            samplers = Samplers(
                self._make_sampler,
                self._seed + self._made,
                stream,
                self._opened.get(stream, 0) if stream else 0,
            )
            recipe = Recipe(name, row_limit, base, samplers)
            self._open[name] = recipe
            if stored and stored != name:
                self._feed(recipe, stored)
        elif recipe.row_limit != row_limit:
            raise BadArgument(
                f"recipe {name!r} already names a dataset of {recipe.row_limit} rows; this one has "
                f"{row_limit}. Use a different key="
            )
        self._open[name] = self._open.pop(name)  # the latest is the last
        return recipe

    def _feed(self, recipe: Recipe, stored: str) -> None:
        """Open the recipe of the rows as they are stored, too, unless it is of other rows."""
        raw = self._open.get(stored)
        if raw is None or raw.row_limit == recipe.row_limit:
            recipe.raw = self.open(stored, recipe.row_limit)
            recipe.raw.feeds += 1

    def set_reach(self, capacity_bytes: int) -> None:
        """Tell streams how many rows memory can hold, divided among the datasets that are read.

        It depends on which jobs are here and how large samples are, not on what memory holds now.
        """
        read = self.in_reading()
        if all(recipe.sizes.slot_bytes for recipe in read):
            all_bytes = sum(recipe.row_limit * recipe.sizes.usual_bytes for recipe in read)
            for recipe in read:
                rows = recipe.row_limit * capacity_bytes // max(all_bytes, 1)
                recipe.samplers.set_reach(min(rows, recipe.row_limit))

    def clocks(self) -> dict[str, tuple[int, int, list[Clock]]]:
        """Return (stream, latest generation, local clocks) of each recipe that nodes share.

        The latest generation is the latest that is known, on whichever node it is read.
        """
        shared = [recipe for recipe in self._open.values() if recipe.samplers.stream]
        return {
            one.name: (one.samplers.stream, one.samplers.latest, one.samplers.clocks())
            for one in shared
        }

    def hear(self, event: Hear) -> None:
        """Take in how far a recipe is read on other nodes; not if its streams are others there."""
        recipe = self._open.get(event.recipe)
        if recipe is not None and recipe.samplers.stream == event.stream:
            recipe.samplers.hear([Clock(*each) for each in event.clocks], event.past)

    def has(self, name: str) -> bool:
        """Tell whether a recipe of this name is open."""
        return name in self._open

    def find(self, name: str) -> Recipe | None:
        """Return the recipe of this name, if it is open."""
        return self._open.get(name)

    def in_reading(self) -> list[Recipe]:
        """Return those that jobs read."""
        return [recipe for recipe in self._open.values() if recipe.readers]

    def to_be_closed(self, keeps: Callable[[Recipe], bool]) -> list[Recipe]:
        """Return unused recipes, except the latest of which samples are kept."""
        closed, kept = [], []
        for recipe in self._open.values():
            if recipe.in_use:
                recipe.left = False
                continue
            if recipe.left or keeps(recipe):
                recipe.left = True
                kept.append(recipe)
            else:
                closed.append(recipe)
        closed += [recipe for recipe in self._replaced if not recipe.in_use]
        return closed + kept[: max(0, len(kept) - MOST_KEPT)]

    def close(self, recipe: Recipe) -> None:
        """Free the numbers of a recipe."""
        if recipe.raw is not None:
            recipe.raw.feeds -= 1
        self._note_opened(recipe)
        if recipe in self._replaced:
            self._replaced.remove(recipe)
        else:
            del self._open[recipe.name]

    def _note_opened(self, recipe: Recipe) -> None:
        """Make sure its orders do not come again: who read them is forgotten with the recipe."""
        stream = recipe.samplers.stream
        if stream:
            self._opened[stream] = max(recipe.samplers.latest, self._opened.get(stream, 0))

    def _free_base(self, row_limit: int) -> int:
        base = 0
        taken = [*self._open.values(), *self._replaced]
        for recipe in sorted(taken, key=lambda recipe: recipe.base):
            if base + row_limit <= recipe.base:
                break
            base = recipe.base + recipe.row_limit
        if base + row_limit > MOST_ROWS:
            raise BadArgument(
                f"no {row_limit} consecutive sample numbers are free of {MOST_ROWS}: the datasets "
                "in use have too many rows together"
            )
        return base
