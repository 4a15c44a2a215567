"""Streams: each job alone sees independent reshuffles, and jobs share what they can.

Error probability: fewer than 2,000 z-values are compared with 5, so right streams would fail with a
probability below 1e-3; seeds are fixed. Every cheat of stream_cheats.py is found in the scenario
named beside it, with the passes of the fast tests.
"""

from unittest import mock

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.sampling import StreamSampler
from joader.sampling.follower import Follower
from joader.sampling.stream_group import StreamGroup
from tests.sampling import stream_cheats as cheats
from tests.sampling.passes import LIMIT, Scenario, play, scores

SCENARIOS = {
    "offset": Scenario((1, 1), (0, 0.3)),
    "half speed": Scenario((2, 1), (0, 0.1)),
    "two at nearly one speed": Scenario((1.3, 1), (0, 0), wander=0.8, reach=8),
    "three speeds": Scenario((4, 2, 1), (0, 0.1, 0.2)),
    "quarters": Scenario((1, 1, 1, 1), (0, 0.25, 0.5, 0.75), wander=0.5),
    "eight speeds": Scenario(tuple(1 + k / 7 for k in range(8)), (0,) * 8, reach=6),
    "folds": Scenario((1, 1, 1), (0, 0.3, 0.6), sets="folds"),
    "five folds": Scenario((1,) * 5, (0, 0.2, 0.4, 0.6, 0.8), sets="folds"),
    "random sets": Scenario((1.21, 1.14, 1.15), (0.79, 0.09, 0.58), sets="random", reach=1),
    "behind the head": Scenario((2, 1.3, 1), (0, 0.3, 0.4), leaves=0.02, reach=8, behind=12),
    "leaving and returning": Scenario((2, 1.3, 1), (0, 0.2, 0.4), leaves=0.03, wander=0.5),
}
FAST = {"eight speeds": 150, "three speeds": 250}  # of others: 500 passes of the slowest job
CAUGHT = [
    (cheats.ChoosesAtEveryRow, "folds", 400),
    (cheats.TailTakesWhatPasses, "offset", 400),
    (cheats.ForgetsBlindDraws, "eight speeds", 400),
    (cheats.ClockOfScans, "folds", 1200),
    (cheats.TailPostponesKnown, "folds", 400),
    (cheats.ChoosesAnewAtTheTurn, "random sets", 800),
    (cheats.FollowsOtherTails, "five folds", 400),
    (cheats.ClockOfRows, "half speed", 1600),
]


def worst(scenario: Scenario, passes: int, seed: int, nonce: int = 0) -> tuple[float, str]:
    """Return the largest z-value of all jobs, and its name."""
    played = play(lambda: StreamSampler(seed, nonce, reach=scenario.reach), scenario, passes, seed)
    datasets = scenario.datasets()
    found = []
    for job, one in enumerate(played):
        others = [rows for other, rows in enumerate(datasets) if other != job]
        # Where sets are equal, the upper half of the rows is the class: dear ones, say.
        classes = others if scenario.sets != "equal" else [np.arange(scenario.rows // 2)]
        found += [(z, name) for name, z in scores(one, scenario.rows, classes).items()]
    return max(found)


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_job_alone_cannot_be_told_from_one_that_reshuffles(name: str) -> None:
    z, statistic = worst(SCENARIOS[name], FAST.get(name, 500), 1)
    assert z < LIMIT, statistic


@pytest.mark.parametrize("name", ["folds", "eight speeds", "random sets", "quarters"])
def test_tails_that_always_decide_alone_are_reshuffles_too(name: str) -> None:
    with cheats.cheating(cheats.Alone):
        z, statistic = worst(SCENARIOS[name], FAST.get(name, 500), 1)
    assert z < LIMIT, statistic


@pytest.mark.parametrize(
    ("cheat", "name", "passes"), CAUGHT, ids=[cheat.__name__ for cheat, *_ in CAUGHT]
)
def test_a_pass_that_cheats_is_found_out(cheat: type[Follower], name: str, passes: int) -> None:
    with cheats.cheating(cheat):
        assert worst(SCENARIOS[name], passes, 0)[0] > LIMIT


def worst_of_two(scenario: Scenario, passes: int, seed: int) -> tuple[float, str]:
    """Return the largest z-value; above 3, which is rare, that of a run with another seed."""
    found = worst(scenario, passes, seed)
    return worst(scenario, passes, seed + 1000) if 3 < found[0] < LIMIT else found


@pytest.mark.slow
@pytest.mark.parametrize("reach", [0, 2, 8, 20])
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_many_passes_cannot_be_told_from_reshuffles(name: str, reach: int) -> None:
    scenario = SCENARIOS[name].with_(reach=reach, wander=0.3)
    z, statistic = worst_of_two(scenario, 8 * FAST.get(name, 500), 2 + reach)
    assert z < LIMIT, statistic


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two at nearly one speed", "random sets"])
def test_a_hundred_thousand_passes_cannot_be_told_from_reshuffles(name: str) -> None:
    z, statistic = worst_of_two(SCENARIOS[name], 100_000, 5)
    assert z < LIMIT, statistic


@pytest.mark.slow
def test_larger_sets_cannot_be_told_from_reshuffles() -> None:
    for name in ("half speed", "five folds", "leaving and returning"):
        scenario = SCENARIOS[name].with_(rows=400, reach=20, tick=8, wander=0.5)
        z, statistic = worst(scenario, 2_000, 3)
        assert z < LIMIT, statistic


def comes_back_from_a_tail(seed: int) -> tuple[int, int, int]:
    """Count, in the first draws after a return, rows of three kinds; each kind has 8 of 24.

    The slow job reads a third of its rows in one generation, follows the next in its tail for
    another third, leaves, and comes back for all of them.
    """
    sampler = StreamSampler(seed, reach=5)
    sampler.add("fast", range(24))
    sampler.add("slow", range(24))
    steps = [{"fast": 3, "slow": 1}] * 4 + [{"fast": 3}] * 4 + [{"slow": 4}]
    early = [row for step in steps for row in sampler.draw(step).get("slow", [])]
    sampler.add("fast", range(24))
    late = [row for _ in range(4) for row in sampler.draw({"fast": 4, "slow": 2})["slow"]]
    sampler.remove("slow")
    sampler.add("slow", range(24))
    new = sampler.draw({"slow": 4})["slow"]
    return (
        sum(row in early for row in new),
        sum(row in late for row in new),
        sum(row not in early + late for row in new),
    )


def kinds_after_a_return(runs: int) -> float:
    """Return the largest z-value of the three counts."""
    total = np.sum([comes_back_from_a_tail(seed) for seed in range(runs)], 0)
    # 4 draws of 24 rows without replacement, 8 of them of a kind.
    deviation = (runs * 4 * (1 / 3) * (2 / 3) * (20 / 23)) ** 0.5
    return float(np.abs(total - runs * 4 / 3).max() / deviation)


def test_who_returns_to_a_generation_that_its_tail_followed_draws_uniformly() -> None:
    assert kinds_after_a_return(1_000) < LIMIT
    with mock.patch.object(StreamGroup, "_go_on", cheats.mixes_kinds):
        assert kinds_after_a_return(1_000) > LIMIT


def test_a_restart_with_the_same_seed_gives_new_orders_only_with_another_nonce() -> None:
    first, again, other = (StreamSampler(4, nonce) for nonce in (0, 0, 1))
    orders = []
    for sampler in (first, again, other):
        sampler.add("a", range(40))
        orders.append(sampler.draw({"a": 40})["a"])
    assert orders[0].tolist() == orders[1].tolist() != orders[2].tolist()


def test_orders_of_two_lives_of_a_daemon_are_independent() -> None:
    agree = 0
    for seed in range(300):
        orders = []
        for nonce in (0, 1):
            sampler = StreamSampler(seed, nonce)
            sampler.add("a", range(40))
            orders.append(sampler.draw({"a": 40})["a"])
        agree += int(np.count_nonzero(orders[0] == orders[1]))
    assert abs(agree - 300) < LIMIT * 300**0.5  # one place in 40 of each pass by chance


def in_step(datasets: list[np.ndarray], tick: int, reach: int | None = None) -> float:
    """Return distinct rows per tick over rows drawn, in one pass of jobs that start together."""
    sampler = StreamSampler(1, reach=reach)
    for job, rows in enumerate(datasets):
        sampler.add(job, rows)
    drawn = distinct = 0
    while any(sampler.remaining(job) for job in range(len(datasets))):
        counts = {job: min(tick, sampler.remaining(job)) for job in range(len(datasets))}
        parts = list(sampler.draw(counts).values())
        drawn += sum(part.size for part in parts)
        distinct += np.unique(np.concatenate(parts)).size
    return distinct / drawn


def test_equal_jobs_in_step_read_the_same_rows_at_the_same_time() -> None:
    assert in_step([np.arange(1000)] * 4, 50) == 0.25
    assert in_step([np.arange(1000)] * 4, 50, reach=0) == 0.25


def test_jobs_in_step_that_are_served_one_after_the_other_stay_together() -> None:
    sampler = StreamSampler(0, reach=10)
    orders: dict[str, list[int]] = {"a": [], "b": []}
    for _ in range(3):
        for job in orders:
            sampler.add(job, range(1000))
        while sampler.remaining("b"):
            for job, read in orders.items():
                read += sampler.draw({job: 50})[job].tolist()
    assert orders["a"] == orders["b"]


def test_folds_in_step_share_nearly_everything_in_a_window() -> None:
    rows = np.arange(2000)
    assert in_step([rows[rows % 5 != fold] for fold in range(5)], 400) < 0.3


def resumes(seed: int, followed: bool) -> int:
    """Count rows of the first half of a generation among the first draws of a job that resumes."""
    sampler = StreamSampler(seed, reach=5)
    sampler.add("other", range(40))
    sampler.add("old", range(40))
    read = sampler.draw({"other": 20, "old": 20})["old"]
    sampler.remove("old")
    sampler.add("new", range(40), followed=followed)  # from the end of its pass before
    return int(np.isin(sampler.draw({"new": 10})["new"], read).sum())


def test_who_resumes_under_another_name_draws_blind_until_the_next_generation() -> None:
    runs = 200
    deviation = (runs * 10 * 0.25 * 30 / 39) ** 0.5
    assert abs(sum(resumes(seed, True) for seed in range(runs)) - runs * 5) < LIMIT * deviation
    assert sum(resumes(seed, False) for seed in range(runs)) == 0


def test_reach_is_a_number_of_rows() -> None:
    sampler = StreamSampler(0, reach=5)
    for wrong in (-1, True, float("nan")):
        with pytest.raises(BadArgument, match="reach is"):
            sampler.reach = wrong  # type: ignore[assignment]
    assert sampler.reach == 5
    sampler.add("a", [1])
    with pytest.raises(BadArgument, match="count is"):
        sampler.ahead("a", -1)


def test_a_job_that_changes_its_rows_between_passes_reads_the_new_ones() -> None:
    sampler = StreamSampler(1, reach=3)
    sampler.add("other", range(90))
    for start in range(0, 60, 7):
        sampler.add("a", range(start, start + 50))
        read: list[int] = []
        while sampler.remaining("a"):
            if not sampler.remaining("other"):
                sampler.add("other", range(90))
            count = min(5, sampler.remaining("a"))
            drawn = sampler.draw({"a": count, "other": min(7, sampler.remaining("other"))})
            read += drawn["a"].tolist()
        assert sorted(read) == list(range(start, start + 50))
