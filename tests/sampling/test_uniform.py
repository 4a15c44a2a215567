"""The room's promise: given all that came before, every draw is uniform over the unread."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from joader.sampling import DependentSampler, IndependentSampler, Sampler
from joader.sampling.group import players_by_round
from tests.sampling.cheats import OffByOne, OneOrderForAll, PrefersPrepared
from tests.sampling.uniformity import (
    ALPHA,
    Play,
    Round,
    next_draw_p_values,
    rank_p_value,
    rate_p_value,
    subset_p_value,
)
from tests.trials import trials

Make = Callable[[int], Sampler]
RULES = ("shared", "paper", "common")
# So many show up all three cheats, in single draws and in pairs; the slow tests have more of them.
RUNS = 2_000
MATCHES = trials(3_000, 1_000)  # a rate that is 0.08 off is found in 1,000
SMALL = {"a": (0, 1, 2, 3), "b": (2, 3, 4), "c": (0, 3, 4, 5)}
# Everybody in step; then a faster than b and c, so that tables meet sizes they were not made for.
STEPS = {
    "in step": [{"a": 1, "b": 1, "c": 1}] * 3 + [{"a": 1, "c": 1}],
    "out of step": [{"a": 2, "b": 1}, {"a": 1, "b": 1, "c": 1}, {"c": 2, "b": 1}, {"a": 1, "c": 1}],
}


def rounds_of(sampler: Sampler, counts: dict[str, int]) -> Iterator[Round]:
    """Draw once and give the draws back round by round."""
    drawn = sampler.draw(counts)
    jobs = list(counts)
    streams = {job: iter(drawn[job].tolist()) for job in jobs}
    masks = [(1 << number, counts[job]) for number, job in enumerate(jobs)]
    for players in players_by_round(masks, max(counts.values())):
        yield {job: next(streams[job]) for n, job in enumerate(jobs) if players >> n & 1}


def play(make: Make, steps: list[dict[str, int]], seed: int) -> list[Round]:
    sampler = make(seed)
    for job, rows in SMALL.items():
        sampler.add(job, rows)
    return [drawn for counts in steps for drawn in rounds_of(sampler, counts)]


def smallest_p(
    run: Play, runs: int, rows: dict[str, tuple[int, ...]] = SMALL
) -> tuple[float, float]:
    """Return the smallest p-value of single draws, and that of pairs of draws, of the same runs."""
    played = list(map(run, range(runs)))
    single, pairs = (
        next_draw_p_values(played.__getitem__, range(runs), rows, pairs=pairs)
        for pairs in (False, True)
    )
    return min(single.values()), min(pairs.values())


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("rule", RULES)
def test_each_draw_and_pair_of_draws_is_uniform_given_the_history(
    rule: str, steps: list[dict[str, int]]
) -> None:
    assert min(smallest_p(partial(play, partial(DependentSampler, rule=rule), steps), RUNS)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("rule", RULES)
def test_each_draw_is_uniform_given_the_history_in_many_runs(
    rule: str, steps: list[dict[str, int]]
) -> None:
    make = partial(DependentSampler, rule=rule)
    assert min(smallest_p(partial(play, make, steps), 100_000)) > ALPHA


@pytest.mark.parametrize("cheat", [OneOrderForAll, PrefersPrepared, OffByOne])
def test_a_sampler_that_cheats_is_found_out(cheat: Make) -> None:
    assert max(smallest_p(partial(play, cheat, STEPS["out of step"]), RUNS)) < ALPHA


def long_run(make: Make, seed: int, passes: int) -> dict[str, list[float]]:
    """Play six jobs of different speed and size for some passes and return p-values by statistic.

    Ranks: where a draw lies among the unread, in order. Subsets: how often a draw is one that some
    other job has read in its current pass, which is what a loader that peeks at the cache would
    favour.
    """
    rng = np.random.default_rng(seed)
    sampler = make(seed)
    rows = {f"job{n}": rng.permutation(400)[: 400 - 40 * n] for n in range(6)}
    speed = {"job0": 8, "job1": 8, "job2": 5, "job3": 4, "job4": 2, "job5": 1}
    unread: dict[str, set[int]] = {}
    done = dict.fromkeys(rows, 0)
    ranks: dict[str, list[tuple[int, int]]] = {job: [] for job in rows}
    read_by_others: dict[str, list[tuple[bool, float]]] = {job: [] for job in rows}
    while min(done["job0"], done["job1"]) < passes:
        for job in rows:
            if not unread.get(job):
                sampler.add(job, rows[job])
                unread[job] = set(rows[job].tolist())
                done[job] += 1
        counts = {job: min(speed[job], len(unread[job])) for job in rows}
        for drawn in rounds_of(sampler, counts):
            for job, row in drawn.items():
                left = sorted(unread[job])
                ranks[job].append((left.index(row), len(left)))
                others = set().union(*(set(rows[o].tolist()) - unread[o] for o in rows if o != job))
                chance = len(others & unread[job]) / len(left)
                read_by_others[job].append((row in others, chance))
            for job, row in drawn.items():
                unread[job].remove(row)
    # Job by job: draws of one round hang together, so only a job's own stream is a martingale.
    return {
        "rank": [rank_p_value(each) for each in ranks.values()],
        "read by others": [subset_p_value(each) for each in read_by_others.values()],
    }


@pytest.mark.parametrize("rule", RULES)
def test_long_runs_with_passes_that_begin_at_different_times_are_uniform(rule: str) -> None:
    for name, p_values in long_run(partial(DependentSampler, rule=rule), 1, passes=4).items():
        assert min(p_values) > ALPHA, name


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_many_long_runs_are_uniform(rule: str, seed: int) -> None:
    for name, p_values in long_run(partial(DependentSampler, rule=rule), seed, passes=20).items():
        assert min(p_values) > ALPHA, name


def test_long_runs_show_a_preference_for_prepared_rows() -> None:
    assert min(long_run(PrefersPrepared, 1, passes=8)["read by others"]) < ALPHA


def test_independent_draws_are_uniform_too() -> None:
    assert min(smallest_p(partial(play, IndependentSampler, STEPS["out of step"]), RUNS)) > ALPHA


# One job, and jobs that need the same rows and draw in step, are served by array operations.
ALONE = {"a": (0, 1, 2, 3, 4)}
EQUAL = {"a": (0, 1, 2, 3, 4), "b": (0, 1, 2, 3, 4)}
SOME_GONE = {"a": (0, 1, 2, 3, 4), "b": (0, 1, 2)}


def play_arrays(
    jobs: dict[str, tuple[int, ...]], steps: list[dict[str, int]], rule: str, seed: int
) -> list[Round]:
    sampler = DependentSampler(seed, rule)
    for job, rows in jobs.items():
        sampler.add(job, rows)
    return [drawn for counts in steps for drawn in rounds_of(sampler, counts)]


@pytest.mark.parametrize(
    ("jobs", "steps"),
    [
        (ALONE, [{"a": 5}]),  # by a permutation
        (ALONE, [{"a": 2}, {"a": 3}]),  # by first occurrences
        (EQUAL, [{"a": 2, "b": 2}, {"a": 3, "b": 3}]),
        (SOME_GONE, [{"b": 1}, {"a": 2}, {"b": 2}, {"a": 3}]),  # out of several cells
    ],
    ids=["all at once", "in parts", "equal jobs", "several cells"],
)
def test_draws_by_array_operations_are_uniform_given_the_history(
    jobs: dict[str, tuple[int, ...]], steps: list[dict[str, int]]
) -> None:
    assert min(smallest_p(partial(play_arrays, jobs, steps, "shared"), RUNS, jobs)) > ALPHA


def match_rate(rule: str, sets: list[range], before: dict[int, int], runs: int) -> int:
    """Count the runs in which all jobs draw the same row, after some have drawn alone."""
    hits = 0
    for seed in range(runs):
        sampler = DependentSampler(seed, rule)
        for job, rows in enumerate(sets):
            sampler.add(job, rows)
        for job, count in before.items():
            sampler.draw({job: count})
        drawn = sampler.draw(dict.fromkeys(range(len(sets)), 1))
        hits += len({int(rows[0]) for rows in drawn.values()}) == 1
    return hits


@pytest.mark.parametrize("rule", ["shared", "paper"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (range(10), range(10)),
        (range(10), range(5)),
        (range(10), range(6, 14)),
        (range(3), range(9)),
    ],
)
def test_two_jobs_match_as_often_as_they_can(rule: str, first: range, second: range) -> None:
    common = len(set(first) & set(second))
    hits = match_rate(rule, [first, second], {}, MATCHES)
    chance = common / max(len(first), len(second))
    assert rate_p_value(hits, MATCHES, chance) > ALPHA


def test_two_jobs_match_as_often_as_they_can_in_the_middle_of_a_pass() -> None:
    # Given 4 of 12 rows read by one of the two, the other 8 are common and the larger job has 12.
    hits = match_rate("shared", [range(12)] * 2, {0: 4}, MATCHES)
    assert rate_p_value(hits, MATCHES, 8 / 12) > ALPHA


@pytest.mark.parametrize("count", [3, 4, 5])
def test_under_the_papers_rule_all_jobs_match_with_the_largest_possible_chance(count: int) -> None:
    sets = [range(number, 10 + 2 * number) for number in range(count)]
    common = len(set.intersection(*map(set, sets)))
    hits = match_rate("paper", sets, {}, MATCHES)
    assert rate_p_value(hits, MATCHES, common / max(map(len, sets))) > ALPHA


@pytest.mark.parametrize("others", [1, 3])
def test_bystanders_leave_the_match_rate_of_a_pair_where_it_was(others: int) -> None:
    runs, hits = MATCHES, 0
    for seed in range(runs):
        sampler = DependentSampler(seed)
        sampler.add("inner", range(10))
        sampler.add("outer", range(20))
        for number in range(others):
            sampler.add(number, range(100 * number + 100, 100 * number + 110))
        drawn = sampler.draw({"inner": 1, "outer": 1, **dict.fromkeys(range(others), 1)})
        hits += bool(drawn["inner"][0] == drawn["outer"][0])
    assert rate_p_value(hits, runs, 0.5) > ALPHA
