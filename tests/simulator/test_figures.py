"""What sets cost in small, against the papers' figures, formulas and bounds."""

import numpy as np
import pytest

from joader.simulator.figures import (
    DEMO,
    FULL,
    QUICK,
    Effort,
    chained,
    expected_misses_of_nested_pair,
    folds,
    mean_union,
    misses,
    nested,
    overlapping,
    random_sets,
    union,
)


def one_slot(sets: list[np.ndarray], sampler: str, seed: int = 0) -> int:  # type: ignore[type-arg]
    return misses(sets, sampler, ["refcount"], [1], seed)["refcount", 1]


@pytest.mark.parametrize("effort", [FULL, QUICK, DEMO])
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
    sets = overlapping(percent)(1000, 0)
    assert misses(sets, "dependent", ["refcount"], [slots], 5) == {("refcount", slots): union(sets)}


@pytest.mark.parametrize("percent", [75, 50, 25])
def test_nested_pairs_prepare_what_the_formula_says(percent: int) -> None:
    sets = nested(100, percent)(2000, 0)
    mean = np.mean([one_slot(sets, "dependent", seed) for seed in range(5)])
    assert mean == pytest.approx(expected_misses_of_nested_pair(2000, 20 * percent), rel=0.015)


@pytest.mark.parametrize(
    ("sets", "most"),
    [
        # Rows a round of the largest job; benchmarks/bench_misses.py has the full sizes.
        (random_sets(4)(2000, 0), 1.70),
        (nested(100, 75, 50, 25)(2000, 0), 1.82),
        (folds(5)(2000, 0), 2.2),
        (chained(6)(1000, 0), 3.52),
    ],
    ids=["four random", "four sizes", "five folds", "half-overlapping"],
)
def test_the_default_rule_is_at_least_as_good_as_the_better_of_the_two_it_replaces(
    sets: list[np.ndarray],  # type: ignore[type-arg]
    most: float,
) -> None:
    ours = one_slot(sets, "dependent")
    assert ours <= 1.01 * min(one_slot(sets, "paper"), one_slot(sets, "common"))
    assert ours <= most * max(map(len, sets))


def test_ref_count_is_never_worse_than_the_policies_it_replaces() -> None:
    for sets in (random_sets(4)(1000, 1), nested(100, 75, 50, 25)(1000, 1)):
        slots = [1, 10, 100, 300, 600, 1000]
        found = misses(sets, "paper", ["refcount", "expected", "lru", "fifo", "random"], slots, 1)
        for size in slots:
            others = min(found[name, size] for name in ("lru", "fifo", "random"))
            assert found["refcount", size] <= others
            assert found["expected", size] <= others
        assert found["refcount", 1000] == union(sets)
