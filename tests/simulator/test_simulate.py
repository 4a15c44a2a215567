"""The simulator counts what the rooms do: totals that add up, whoever comes and goes."""

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows
from joader.sampling import DependentSampler
from joader.simulator import Job, Result, simulate, trace
from joader.simulator.simulate import POLICIES, SAMPLERS, Begin, Rates


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


def test_jobs_may_come_from_a_generator() -> None:
    jobs = [Job(range(50)), Job(range(80))]
    assert simulate((job for job in jobs), capacity=5) == simulate(jobs, capacity=5)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_seed_is_an_integer_from_0_on_for_every_sampler_and_policy(
    sampler: str, policy: str
) -> None:
    for seed in (-1, 1.5, True, "1", None):
        with pytest.raises(BadArgument, match=f"seed is {seed!r}"):
            simulate([Job(range(3))], sampler, policy, seed=seed)  # type: ignore[arg-type]
    simulate([Job(range(3))], sampler, policy, seed=np.int64(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_that_served_another_cache_is_refused(policy: str) -> None:
    used = POLICIES[policy](0)
    simulate([Job(range(9))], "dependent", used, capacity=3)
    with pytest.raises(BadArgument, match="has served another cache; make a new one"):
        simulate([Job(range(9))], "dependent", used, capacity=3)


def test_wrong_arguments_of_a_trace_raise_before_its_first_event() -> None:
    with pytest.raises(BadArgument, match="speed"):
        trace([Job([1], speed=0)])
    with pytest.raises(BadArgument, match="sampler"):
        trace([Job([1])], "best")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sampler": "best"}, "sampler is 'best'; there are dependent"),
        ({"sampler": None}, "sampler is None; give a sampler or one of dependent"),
        ({"sampler": DependentSampler}, "give a sampler or one of dependent"),
        ({"policy": "best"}, "policy is 'best'; there are refcount"),
        ({"policy": 3}, "policy is 3; give a policy or one of refcount"),
        ({"capacity": 0}, "at least one sample"),
        ({"capacity": 1.5}, "capacity is 1.5; it is an integer"),
        ({"jobs": [Job([1, 1])]}, "row 1 occurs more than once"),
        ({"jobs": [Job([[1], [2, 3]])]}, "rows"),
        ({"jobs": [Job("abc")]}, "rows"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, object], word: str) -> None:
    arguments = {"jobs": [Job(range(3))], **change}
    with pytest.raises((BadArgument, BadRows), match=word):
        simulate(**arguments)  # type: ignore[arg-type]
