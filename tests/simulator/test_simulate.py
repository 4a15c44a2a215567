"""The simulator counts what the engine does: totals that add up, whoever comes and goes."""

import numpy as np
import pytest

from joader.cache import Lru
from joader.engine import Engine, Limits
from joader.errors import BadArgument, BadRows
from joader.messages import Event, Instruction, Want
from joader.sampling import DependentSampler
from joader.simulator import Job, Result, simulate
from joader.simulator.choices import POLICIES, SAMPLERS


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


def test_it_is_the_engine_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simulator told it, told again to an engine of its own, gives the same words."""
    log: list[tuple[tuple[Event, ...], str]] = []
    handle = Engine.handle

    def record(engine: Engine, *events: Event) -> list[Instruction]:
        said = handle(engine, *events)
        log.append((events, repr(said)))
        return said

    monkeypatch.setattr(Engine, "handle", record)
    jobs = [Job(range(60)), Job(range(30, 90), speed=2, epochs=2)]
    result = simulate(jobs, "dependent", "lru", capacity=9, seed=3, batch_size=2, limits=Limits())
    monkeypatch.undo()
    replay = Engine(9 * 64, 0, Lru, Limits(), lambda order, seed: DependentSampler(3))
    assert all(repr(replay.handle(*events)) == said for events, said in log)
    assert result.delivered == 180


def test_in_every_round_what_is_wanted_together_is_prepared_together() -> None:
    result = simulate([Job(range(500))] * 4, "dependent", "lru", capacity=1, seed=1)
    assert (result.prepared, result.shared) == (500, 1500)
    assert [part.prepared for part in result.jobs] == [500, 0, 0, 0]


def test_jobs_of_equal_speed_meet_whatever_the_time_between_their_starts() -> None:
    for start in (0.5, 1 / 3, 0.999):
        jobs = [Job(range(300)), Job(range(300), start=start)]
        assert simulate(jobs, "dependent", "lru", capacity=2).prepared < 330


@pytest.mark.parametrize("scale", [0.01, 1000])
def test_only_the_quotients_of_speeds_matter(scale: float) -> None:
    def run(unit: float) -> Result:
        jobs = [Job(range(300), speed=unit), Job(range(300), speed=4 * unit, epochs=4)]
        return simulate(jobs, "dependent", "expected", capacity=60, seed=2)

    assert run(scale).prepared == pytest.approx(run(1).prepared, rel=0.01)


def test_a_node_as_the_daemon_runs_it_looks_ahead_and_refuses() -> None:
    jobs = [Job(range(400), speed=100), Job(range(400), speed=100, start=1.2)]
    on_demand = simulate(jobs, capacity=80, batch_size=8)
    ahead = simulate(jobs, capacity=80, batch_size=8, limits=Limits())
    assert on_demand.delivered == ahead.delivered == 800
    assert on_demand.prepared < ahead.prepared < 1.2 * on_demand.prepared
    with pytest.raises(BadArgument, match=r"would refuse this \(a sample has 64 bytes here\): job"):
        simulate(jobs, capacity=31, batch_size=8, limits=Limits())


def test_a_batch_that_cannot_fit_is_refused_also_without_look_ahead() -> None:
    with pytest.raises(BadArgument, match="a batch of 8 samples"):
        simulate([Job(range(20))], capacity=7, batch_size=8)
    assert simulate([Job(range(20))] * 2, capacity=8, batch_size=8).delivered == 40


def test_jobs_want_at_the_pace_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    wants: list[Want] = []
    handle = Engine.handle

    def record(engine: Engine, *events: Event) -> list[Instruction]:
        wants.extend(event for event in events if isinstance(event, Want))
        return handle(engine, *events)

    monkeypatch.setattr(Engine, "handle", record)
    jobs = [Job(range(60), speed=10), Job(range(60), speed=40, epochs=4)]
    simulate(jobs, capacity=100, batch_size=4, limits=Limits())
    slow = [want.now for want in wants if want.job == 0]
    fast = [want.now for want in wants if want.job == 1]
    assert slow == pytest.approx(np.arange(1, 16) * 0.4)
    assert fast == pytest.approx(np.arange(1, 61) * 0.1)


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


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sampler": "best"}, "sampler is 'best'; use one of dependent"),
        ({"sampler": None}, "sampler is None; give a sampler or one of dependent"),
        ({"sampler": DependentSampler}, "give a sampler or one of dependent"),
        ({"policy": "best"}, "policy is 'best'; use one of refcount"),
        ({"policy": 3}, "policy is 3; give the class of one, or one of refcount"),
        ({"capacity": 0}, "of at least 1"),
        ({"capacity": 1.5}, "capacity is 1.5; it must be an integer"),
        ({"batch_size": 0}, "batch_size is 0; it must be an integer of at least 1"),
        ({"jobs": [Job([1], speed=0)]}, "speed"),
        ({"jobs": [Job([1, 1])]}, "row 1 occurs more than once"),
        ({"jobs": [Job([[1], [2, 3]])]}, "rows"),
        ({"jobs": [Job("abc")]}, "rows"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, object], word: str) -> None:
    arguments = {"jobs": [Job(range(3))], **change}
    with pytest.raises((BadArgument, BadRows), match=word):
        simulate(**arguments)  # type: ignore[arg-type]
