"""Shares of the workers' time, on a real daemon with real jobs; the machine may be busy."""

import json
import time

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until

READ = """
options = json.loads(sys.argv[1])
row_s = options.pop("row_s")

class Computes(Squares):
    def __getitem__(self, row):
        end = time.thread_time() + row_s
        while time.thread_time() < end:
            pass
        return super().__getitem__(row)

for batch in joader.DataLoader(
    Computes(1_000_000), shuffle=True, batch_size=16, deterministic=True, **options
):
    pass
"""


def start(node: Node, name: str, row_s: float, **more: object) -> None:
    node.job(READ, json.dumps({"row_s": row_s, "key": name, "job": name, **more}))


def delivered(node: Node) -> dict[str, int]:
    return {job["name"]: job["delivered"] for job in node.status()["jobs"]}


def grown(node: Node, seconds: float) -> dict[str, int]:
    before = delivered(node)
    time.sleep(seconds)
    return {name: count - before[name] for name, count in delivered(node).items()}


@pytest.mark.slow
def test_time_goes_by_weight_however_many_workers_each_job_brings(node: Node) -> None:
    node.up(workers=1)
    start(node, "many", 0.003, num_workers=4)
    start(node, "heavy", 0.003, num_workers=1, weight=3)
    wait_until(lambda: len(delivered(node)) == 2 and min(delivered(node).values()) > 100, 60)
    got = grown(node, 6.0)
    assert 2.2 < got["heavy"] / got["many"] < 4.0
    shown = {job["name"]: job["schedule"] for job in node.status()["jobs"]}
    assert shown["heavy"]["share"] == pytest.approx(0.75, abs=0.02)
    assert shown["heavy"]["weight"] == 3.0


@pytest.mark.slow
def test_rows_of_other_cost_get_the_same_time(node: Node) -> None:
    node.up(workers=1)
    start(node, "cheap", 0.002, num_workers=2)
    start(node, "dear", 0.008, num_workers=2)
    wait_until(lambda: len(delivered(node)) == 2 and min(delivered(node).values()) > 50, 60)
    got = grown(node, 6.0)
    assert 2.8 < got["cheap"] / got["dear"] < 5.5


@pytest.mark.slow
def test_a_ceiling_below_one_processor_is_kept_and_nobody_starves(node: Node) -> None:
    node.up("64MiB", 2, "--cpu=10%")
    start(node, "one", 0.002, num_workers=2)
    start(node, "other", 0.002, num_workers=2)
    wait_until(lambda: len(delivered(node)) == 2 and min(delivered(node).values()) > 50, 60)
    got = grown(node, 6.0)
    assert min(got.values()) > 0
    assert sum(got.values()) * 0.002 / 6.0 < 0.2 * 1.25
