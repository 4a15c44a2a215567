"""What sets cost in small, against the papers' figures, formulas and bounds."""

import numpy as np
import pytest

from papers.figure import (
    FULL,
    QUICK,
    Effort,
    chained,
    expected_misses_of_nested_pair,
    folds,
    mean_misses,
    mean_union,
    nested,
    overlapping,
    random_sets,
    union,
)
from papers.runs import Sets
from tests.trials import trials

SLOW = pytest.mark.slow
PARTS = (2, 10, 30, 60, 100)[:: trials(1, 2)]  # of memory, in percent


def one_slot(make: Sets, size: int, sampler: str, seeds: int = 1) -> float:
    return mean_misses(make, size, sampler, "refcount", 1, range(seeds))


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_an_effort_goes_from_one_slot_to_the_largest_set(effort: Effort) -> None:
    slots = effort.slots(effort.size)
    assert slots == sorted(set(slots))
    assert (slots[0], slots[-1]) == (1, effort.size)
    assert list(effort.seeds_from(7)) == list(range(7, 7 + effort.seeds))


def test_the_mean_union_is_over_all_seeds() -> None:
    assert mean_union([[np.arange(4), np.arange(6)], [np.arange(8), np.arange(2)]]) == 7


def test_sets_are_as_large_and_as_common_as_they_say() -> None:
    for make, sizes, whole in (
        (overlapping(75), [1000] * 2, 1250),
        (nested(100, 25), [1000, 250], 1000),
        (chained(6), [1000] * 6, 3500),
        (folds(5), [800] * 5, 1000),
    ):
        sets = make(1000, 0)
        assert ([rows.size for rows in sets], union(sets)) == (sizes, whole)
    for share, all_rows in ((0.75, 1333), (0.5, 2000)):
        sets = random_sets(6, share)(1000, 0)
        assert all(np.unique(rows).size == 1000 for rows in sets)
        assert 0.95 * all_rows < union(sets) <= all_rows


@pytest.mark.parametrize("percent", [100, 75, 50, 25])
@pytest.mark.parametrize("slots", [1, 10, 1000])
def test_two_equal_sized_sets_are_prepared_once_at_any_cache_size(percent: int, slots: int) -> None:
    make = overlapping(percent)
    found = mean_misses(make, 1000, "dependent", "refcount", slots, [5])
    assert found == union(make(1000, 5))


@pytest.mark.parametrize(
    "percent", [pytest.param(75, marks=SLOW), 50, pytest.param(25, marks=SLOW)]
)
def test_nested_pairs_prepare_what_the_formula_says(percent: int) -> None:
    mean = one_slot(nested(100, percent), 1000, "dependent", trials(8, 3))
    assert mean == pytest.approx(expected_misses_of_nested_pair(1000, 10 * percent), rel=0.015)


@pytest.mark.parametrize(
    ("make", "size", "most"),
    [
        # Rows a round of the largest job; benchmarks/bench_misses.py has the full sizes.
        (random_sets(4), trials(1000, 500), 1.70),
        pytest.param(nested(100, 75, 50, 25), 2000, 1.82, marks=SLOW),
        pytest.param(folds(5), 1000, 2.2, marks=SLOW),
        pytest.param(chained(6), 1000, 3.52, marks=SLOW),
    ],
    ids=["four random", "four sizes", "five folds", "half-overlapping"],
)
def test_the_default_rule_is_at_least_as_good_as_the_better_of_the_two_it_replaces(
    make: Sets, size: int, most: float
) -> None:
    ours = one_slot(make, size, "dependent")
    assert ours <= 1.01 * min(one_slot(make, size, "paper"), one_slot(make, size, "common"))
    assert ours <= most * max(map(len, make(size, 0)))


@pytest.mark.parametrize("size", [trials(100, 50), pytest.param(500, marks=SLOW)])
def test_ref_count_is_never_worse_than_the_policies_it_replaces(size: int) -> None:
    for make in (random_sets(4), nested(100, 75, 50, 25)):
        for slots in (1, *(size * percent // 100 for percent in PARTS)):
            found = {
                policy: mean_misses(make, size, "paper", policy, slots, [1])
                for policy in ("refcount", "expected", "lru", "fifo", "random")
            }
            others = min(found[name] for name in ("lru", "fifo", "random"))
            assert found["refcount"] <= others
            assert found["expected"] <= others
        assert found["refcount"] == union(make(size, 1))
