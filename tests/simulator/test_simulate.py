"""The simulator counts what the rooms do: totals that add up, and the papers' figures in small."""

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows
from joader.sampling import DependentSampler
from joader.simulator import Job, Result, simulate, trace
from joader.simulator.figures import (
    FIGURES,
    expected_misses_of_nested_pair,
    folds,
    misses,
    nested,
    overlapping,
    random_sets,
    union,
)
from joader.simulator.simulate import POLICIES, SAMPLERS, Begin, Rates


def one_slot(sets: list[np.ndarray], sampler: str, seed: int = 0) -> int:  # type: ignore[type-arg]
    return misses(sets, sampler, ["refcount"], [1], seed)["refcount", 1]


def check_sums(result: Result, jobs: list[Job]) -> None:
    for job, part in zip(jobs, result.jobs, strict=True):
        assert part.delivered == len(np.asarray(job.rows)) * job.epochs
        assert part.delivered == part.hits + part.prepared
        assert part.shared <= part.hits
    for name in ("delivered", "prepared", "hits", "shared"):
        assert getattr(result, name) == sum(getattr(part, name) for part in result.jobs)


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("sampler", [name for name in SAMPLERS if name != "lockstep"])
def test_everything_is_delivered_once_a_pass_whoever_comes_and_goes(
    sampler: str, policy: str
) -> None:
    jobs = [
        Job(range(100), epochs=2),
        Job(range(50, 150), speed=3.5, start=10.25),
        Job([], start=3),
        Job(range(7), speed=0.1, epochs=3),
        Job(range(100), epochs=0),
    ]
    check_sums(simulate(jobs, sampler, policy, capacity=20, seed=4), jobs)


def test_each_job_reads_each_row_once_a_pass_at_its_own_speed() -> None:
    jobs = [Job(range(60), speed=1), Job(range(60), speed=4, epochs=4)]
    seen: list[list[int]] = [[], []]
    for event in trace(jobs, "dependent", 1):
        if not isinstance(event, Begin | Rates):
            for job in event[1]:
                seen[job].append(event[0])
            # At every moment the fast one has taken four times as many, but for a row and a round.
            assert abs(len(seen[1]) - 4 * len(seen[0])) <= 8
    assert sorted(seen[0]) == list(range(60))
    assert sorted(seen[1]) == sorted(list(range(60)) * 4)


def test_lockstep_shares_everything() -> None:
    result = simulate([Job(range(100))] * 3, "lockstep", "lru", capacity=1)
    assert (result.prepared, result.shared) == (100, 200)


def test_one_job_with_room_for_all_prepares_once_in_all_passes() -> None:
    result = simulate([Job(range(100), epochs=5)], "independent", "expected", capacity=100)
    assert (result.prepared, result.hits, result.shared) == (100, 400, 0)


def test_a_sampler_and_a_policy_may_be_given_as_objects() -> None:
    by_name = simulate([Job(range(50)), Job(range(80))], "dependent", "lru", 5, seed=3)
    as_object = simulate([Job(range(50)), Job(range(80))], DependentSampler(3), "lru", 5)
    assert by_name == as_object


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sampler": "best"}, "sampler is 'best'; there are dependent"),
        ({"policy": "best"}, "policy is 'best'; there are refcount"),
        ({"capacity": 0}, "at least one sample"),
        ({"jobs": [Job([1], speed=0)]}, "job 0 has speed 0"),
        ({"jobs": [Job([1], start=-1)]}, "job 0 starts at -1"),
        ({"jobs": [Job([1], epochs=-1)]}, "job 0 has -1 epochs"),
        ({"jobs": [Job([1, 1])]}, "row 1 occurs more than once"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, object], word: str) -> None:
    arguments = {"jobs": [Job(range(3))], **change}
    with pytest.raises((BadArgument, BadRows), match=word):
        simulate(**arguments)  # type: ignore[arg-type]


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
        ([np.arange(1000) + 500 * job for job in range(6)], 3.52),
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


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_runs_and_ticks_as_often_as_it_says(name: str) -> None:
    figure = FIGURES[name]
    ticks: list[None] = []
    rows = list(figure.rows(0, True, lambda: ticks.append(None)))
    assert len(ticks) == figure.steps(True)
    assert all(row.ours > 0 for row in rows)
    if name != "joader-insert":
        assert all(row.baseline and row.ours <= 1.001 * row.baseline for row in rows)
