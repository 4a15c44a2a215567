"""Figures are values: they add up, travel, and keep the names that scripts rely on."""

import json
from dataclasses import FrozenInstanceError, asdict, fields

import pytest

from joader import statistics
from joader.statistics import (
    CacheStatistics,
    CrewStatistics,
    FlowStatistics,
    JobMomentStatistics,
    JobStatistics,
    MomentStatistics,
    NodeStatistics,
    PeerStatistics,
    ReadStatistics,
    RunStatistics,
    TotalStatistics,
    from_json,
    of_all_nodes,
    run_from_json,
    saved,
    to_json,
)

JOB = JobStatistics(
    id=3,
    name="train.py",
    table="flowers@2",
    pid=77,
    rank=1,
    world_size=4,
    epoch=5,
    position=64,
    delivered=200,
    prepared=50,
    hits=150,
    shared=120,
    taken_from={4: 120},
    time_left_s=2.5,
)
CREW = CrewStatistics(
    ticket="0a1b2c3d",
    jobs=(3,),
    workers=(78, 79),
    lends=True,
    queued=12,
    in_hand=8,
    on_their_way=1,
)
NODE = NodeStatistics(
    pid=70,
    memory=CacheStatistics(used_bytes=640, pinned_bytes=128, budget_bytes=4096),
    jobs=(JOB,),
    totals=TotalStatistics(delivered=300, prepared=60, hits=240, shared=120, wasted=2),
    workers=2,
    worker_processes=(78, 79),
    started_by=77,
    cgroup="/user.slice",
    crews=(CREW,),
)


def test_a_node_comes_back_from_json_as_it_was() -> None:
    assert from_json(to_json(NODE)) == NODE


def test_json_has_the_keys_that_scripts_rely_on() -> None:
    shown = json.loads(to_json(NODE))
    assert list(shown) == [
        *("version", "pid", "memory", "jobs", "totals", "workers", "worker_processes"),
        *("started_by", "cgroup", "crews", "schedule", "time", "uptime_s", "cores"),
        *("delivered_per_s", "prepared_per_s", "cpu_cores", "flow", "raw", "cluster"),
        *("queued", "tiers", "diagnosis"),
    ]
    assert list(shown["memory"]) == [
        *("used_bytes", "pinned_bytes", "budget_bytes"),
        *("needed_by_many_bytes", "needed_by_one_bytes", "needed_by_none_bytes"),
    ]
    assert list(shown["totals"]) == [
        *("delivered", "prepared", "hits", "shared", "wasted", "saved_s", "saved_cpu_s", "saved")
    ]
    assert list(shown["jobs"][0]) == [
        *("id", "name", "table", "pid", "rank", "world_size", "epoch", "position"),
        *("delivered", "prepared", "hits", "shared", "schedule", "dataset", "rows"),
        *("done", "shares_with", "taken_from", "wait_s", "row_s", "computing_s", "storage_s"),
        *("core_s", "own_row_s", "saved_s", "saved_cpu_s", "saved"),
        *(
            "wait_per_sample_s",
            "samples_per_s",
            "waiting",
            "time_left_s",
            "worker_share",
            "why",
            "flow",
            "time",
            "diagnosis",
            "label",
            "began",
            "ended",
        ),
    ]
    assert list(shown["diagnosis"]) == ["kind", "says", "do"]


def test_a_run_comes_back_from_json_as_it_was() -> None:
    job = JobMomentStatistics(samples_per_s=12.5, waiting=0.25, worker_share=1.0)
    moment = MomentStatistics(time=7.0, seconds=1.0, delivered_per_s=12.5, jobs={3: job})
    run = RunStatistics(node=NODE, moments=(moment,), minutes=(moment,), past=(JOB,))
    assert run_from_json(to_json(run)) == run


def test_what_python_prints_is_what_travels() -> None:
    # `joader status --json` prints the first, and whoever asks the daemon itself gets the second.
    assert json.loads(json.dumps(asdict(NODE))) == json.loads(to_json(NODE))


def test_keys_of_a_newer_daemon_are_left_out() -> None:
    newer = {**json.loads(to_json(NODE)), "gpus": 8}
    assert from_json(json.dumps(newer).encode()) == NODE


def test_a_daemon_that_knows_no_crews_yet_can_be_read() -> None:
    older = json.loads(to_json(NODE))
    del older["crews"]
    assert from_json(json.dumps(older).encode()).crews == ()


def test_no_daemon_has_no_process_and_delivers_nothing() -> None:
    nothing = NodeStatistics()
    assert nothing.pid is None
    assert nothing.jobs == nothing.crews == nothing.worker_processes == ()
    assert nothing.totals == TotalStatistics()
    assert saved(nothing.totals) is None


def test_what_jobs_read_adds_up() -> None:
    jobs = [ReadStatistics(10, 4, 6, 5), ReadStatistics(1, 1, 0, 0)]
    assert sum(jobs, ReadStatistics(100, 50, 50, 7)) == ReadStatistics(111, 55, 56, 12)


def test_what_is_on_its_way_adds_up() -> None:
    one = FlowStatistics(to_come=1, planned=2, preparing=3, ready=4, held=5)
    assert one + one == FlowStatistics(to_come=2, planned=4, preparing=6, ready=8, held=10)


def test_what_another_node_prepared_is_saved_by_all_together() -> None:
    def peer(delivered: int, prepared: int) -> PeerStatistics:
        where = {"name": "", "host": "", "port": 0, "cores": 1}
        return PeerStatistics(**where, delivered=delivered, prepared=prepared)  # type: ignore[arg-type]

    both = of_all_nodes([peer(100, 30), peer(100, 20)])
    assert (both.delivered, both.prepared, both.hits, both.saved) == (200, 50, 150, 0.75)
    ahead = of_all_nodes([peer(10, 30), peer(0, 2)])  # and not read yet
    assert (ahead.prepared, ahead.hits, ahead.saved) == (10, 0, 0.0)
    assert of_all_nodes([]).saved is None


def test_work_is_saved_by_what_was_there_already() -> None:
    assert saved(JOB) == 0.75
    assert saved(ReadStatistics(8, 8, 0, 0)) == 0.0
    assert saved(ReadStatistics()) is None


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for name, kind in vars(statistics).items()
        if name.endswith("Statistics") and isinstance(kind, type)
    ],
)
def test_figures_are_frozen_and_small(kind: type) -> None:
    value = kind(**dict.fromkeys((field.name for field in fields(kind)), 0))
    assert not hasattr(value, "__dict__")
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(kind)[0].name, 1)
