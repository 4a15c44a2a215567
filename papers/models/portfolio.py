"""Lobster's portfolio (§4.1): how long a sample takes so many threads, by recipe and size class.

Each model is a line with bends. For a size that has none, the model of the nearest size is used.
*Step 1*: as many threads prepare as reach the peak, and no more. *Step 2*: while a batch is loaded
and prepared in more than a training step, and loading is what takes longer, one thread moves from
preparing to loading. In joader's daemon a worker does both, and the pool does by itself what step 2
decides; this is the paper's rule, for `joader profile` and for comparison.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from joader.errors import BadArgument
from papers.models import piecewise
from papers.models.piecewise import Piecewise
from papers.models.runs import LoadingRun

# As in knee.py: fewer threads that give nearly as much are better.
_SLACK = 0.02


class Threads(NamedTuple):
    """How many prepare, and how many load."""

    prepare: int
    load: int


def size_class(sample_bytes: int) -> int:
    """Return the class of a size: its power of two."""
    if sample_bytes < 1:
        raise BadArgument(f"a sample of {sample_bytes} bytes is too small: use 1 or more")
    return int(math.log2(sample_bytes))


@dataclass
class Portfolio:
    """Models by recipe and size class: threads in, seconds per sample of all of them out."""

    models: dict[str, dict[int, Piecewise]] = field(default_factory=dict)

    def nearest(self, recipe: str, sample_bytes: int) -> Piecewise:
        """Return the model of the nearest size; BadArgument if the recipe has none."""
        known: Mapping[int, Piecewise] = self.models.get(recipe, {})
        if not known:
            raise BadArgument(f"no model of recipe {recipe!r}; `joader profile` makes one")
        wanted = size_class(sample_bytes)
        return known[min(known, key=lambda one: (abs(one - wanted), one))]

    def peak(self, recipe: str, sample_bytes: int, most: int) -> int:
        """Return how many threads reach the most samples per second (step 1)."""
        model = self.nearest(recipe, sample_bytes)
        rates = [1.0 / model(threads) for threads in range(1, most + 1)]
        enough = (1.0 - _SLACK) * max(rates)
        return next(threads for threads, rate in enumerate(rates, 1) if rate >= enough)

    def balanced(
        self,
        recipe: str,
        sample_bytes: int,
        *,
        batch: int,
        step_s: float,
        threads: int,
        load_s: Callable[[int], float],
    ) -> Threads:
        """Divide threads so that loading and preparing stay below a training step (both steps).

        `load_s` says how long so many threads take to load a batch.
        """
        if threads < 2:
            raise BadArgument(f"{threads} threads cannot be divided: use 2 or more")
        model = self.nearest(recipe, sample_bytes)
        prepare = min(self.peak(recipe, sample_bytes, threads), threads - 1)
        while prepare > 1:
            prepare_s, loading_s = batch * model(prepare), load_s(threads - prepare)
            if prepare_s + loading_s <= step_s or prepare_s >= loading_s:
                break
            prepare -= 1
        return Threads(prepare, threads - prepare)


def fit(runs: Sequence[LoadingRun]) -> Portfolio:
    """Make a model of each recipe and size class that was measured."""
    groups: dict[tuple[str, int], list[LoadingRun]] = {}
    for run in runs:
        groups.setdefault((run.recipe, size_class(run.sample_bytes)), []).append(run)
    found = Portfolio()
    for (recipe, size), group in groups.items():
        times = [1.0 / run.rows_per_s for run in group]
        model = piecewise.fit([float(run.workers) for run in group], times)
        found.models.setdefault(recipe, {})[size] = model
    return found
