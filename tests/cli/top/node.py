"""A node with three jobs, and a cluster of three nodes, for tests of what is shown of them."""

from joader.statistics import (
    CacheStatistics,
    ClusterStatistics,
    DiagnosisStatistics,
    FlowStatistics,
    JobStatistics,
    NodeStatistics,
    PeerStatistics,
    TotalStatistics,
)

CROWDED = "other programs have the cores, so a sample that needs 2 ms takes workers 9 ms."
HOSTILE = "\x1b[31m[red]resnet\x07 with a name that is longer than any column could ever be"


def job(number: int, name: str, **figures: object) -> JobStatistics:
    whole = {
        "id": number,
        "name": name,
        "table": "",
        "pid": 100 + number,
        "rank": 0,
        "world_size": 1,
        "epoch": 2,
        "position": 250,
        "rows": 1000,
        "delivered": 400,
        "prepared": 100,
        "hits": 300,
        "shared": 250,
        "saved": 0.75,
        "done": 0.25,
        **figures,
    }
    return JobStatistics(**whole)  # type: ignore[arg-type]


JOBS = (
    job(1, "vit", dataset="Photos of 1,000 rows", shares_with=(2,), samples_per_s=50.0,
        time_left_s=15.0, waiting=0.1, why="1 of 2 workers", taken_from={2: 250},
        diagnosis=DiagnosisStatistics(kind="core", says=f"It waits 10% of the time: {CROWDED}")),
    job(2, HOSTILE, dataset="[bold]Photos\x1b[2J", shares_with=(1,), samples_per_s=20.0,
        waiting=0.6, why="1 of 2 workers",
        diagnosis=DiagnosisStatistics(kind="core", says=f"It waits 60% of the time: {CROWDED}")),
    job(3, "字幕モデル", label="字幕モデル, rank 1", table="flowers@2", samples_per_s=500.0, rank=1,
        world_size=2),
)  # fmt: skip
NODE = NodeStatistics(
    pid=7,
    jobs=JOBS,
    memory=CacheStatistics(
        used_bytes=96 << 20,
        pinned_bytes=32 << 20,
        budget_bytes=128 << 20,
        needed_by_many_bytes=32 << 20,
        needed_by_one_bytes=31 << 20,
        needed_by_none_bytes=1 << 20,
    ),
    totals=TotalStatistics(
        delivered=1200,
        prepared=300,
        hits=900,
        shared=750,
        saved_s=120.0,
        saved_cpu_s=90.0,
        saved=0.75,
    ),
    cores=2,
    cpu_cores=1.5,
    delivered_per_s=570.0,
    prepared_per_s=140.0,
    uptime_s=3700.0,
    flow=FlowStatistics(to_come=5000, planned=40, preparing=30, ready=20, held=10),
    diagnosis=DiagnosisStatistics(
        kind="core",
        says=f"2 of 3 jobs wait up to 60% of the time: {CROWDED}",
        do="End those programs, or run the job where cores are free; more workers do not help.",
    ),
)
CLUSTER = ClusterStatistics(
    name="gpu2",
    leader="node1",
    leader_reached=True,
    nodes=(
        PeerStatistics(
            name="node1",
            host="10.0.0.1",
            port=41489,
            cores=16,
            linked=True,
            prepared=1230,
            fetched=4488,
            sent=4531,
            used_bytes=512 << 20,
            budget_bytes=1 << 30,
        ),
        PeerStatistics(name="gpu2", host="10.0.0.2", port=44413, cores=16, here=True),
        PeerStatistics(name="[red]\x1b[2J字幕", host="10.0.0.3", port=1, cores=8),
    ),
    fetched=4575,
    sent=4467,
    totals=TotalStatistics(delivered=9000, prepared=3000, hits=6000, saved=2 / 3),
)
