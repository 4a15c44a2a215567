"""What limits real jobs: a hog on their cores, a slow storage, step or `collate_fn`, other jobs.

The machine may be busy: a job that needs few cores by far says the same then. Where busy cores
change what is so, either answer counts, and `tests/schedule/test_diagnosis.py` has the exact ones.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.processes.conftest import Node

READ = """
options = json.loads(sys.argv[1])
cores = options.pop("cores", None)
row_s, storage_s, step_s, collate_s = (
    options.pop(name, 0.0) for name in ("row_s", "storage_s", "step_s", "collate_s")
)
if cores:
    os.sched_setaffinity(0, cores)

class Rows(Squares):
    def __getitem__(self, row):
        time.sleep(storage_s)
        end = time.thread_time() + row_s
        while time.thread_time() < end:
            pass
        return super().__getitem__(row)

def collate(samples):
    time.sleep(collate_s)
    return samples

if collate_s:  # half of it before a batch is yielded as collated, half as transformed
    options |= {"collate_fn": collate, "batch_transform": collate}
for batch in joader.DataLoader(
    Rows(1_000_000), shuffle=True, batch_size=4, deterministic=True, **options
):
    time.sleep(step_s)
"""
LAST_S = 30.0


def start(node: Node, name: str, **options: object) -> None:
    node.job(READ, json.dumps({"key": name, "job": name, "num_workers": 1, **options}))


@contextmanager
def hogs(cores: set[int], each: int) -> Iterator[None]:
    """Keep cores busy with so many processes on each of them."""
    spin = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    commands = [[sys.executable, "-c", spin, str(core)] for core in cores for _ in range(each)]
    running = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def kinds_until(node: Node, expected: dict[str, set[str]]) -> dict[str, dict[str, str]]:
    """Wait until each job says one of these, and return all diagnoses; "" is the node's."""
    deadline = time.monotonic() + LAST_S
    while True:
        status = node.status()
        found = {job["name"]: job["diagnosis"] for job in status["jobs"]}
        found[""] = status["diagnosis"]
        if all(name in found and found[name]["kind"] in its for name, its in expected.items()):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_a_slow_storage_step_and_collate_and_rows_read_in_the_job_are_told_apart(
    node: Node,
) -> None:
    node.up()
    start(node, "storage", storage_s=0.02)
    start(node, "training", step_s=0.1)
    start(node, "collate", collate_s=0.05, step_s=0.03)
    start(node, "reads", row_s=0.004, num_workers=0)
    names = {"storage", "training", "collate"}
    found = kinds_until(node, {**{name: {name} for name in names}, "reads": {"computing"}})
    assert "Lend more workers (num_workers=2)" in found["storage"]["do"]
    assert found["training"]["do"] == ""
    assert "collate_fn" in found["collate"]["says"]
    (its,) = [job for job in node.status()["jobs"] if job["name"] == "collate"]
    assert its["time"]["collating"] > 0.6  # both
    assert "reading rows in its own process" in found["reads"]["says"]


def test_a_job_on_a_core_that_others_keep_busy_waits_for_a_core(node: Node) -> None:
    core = max(os.sched_getaffinity(0))
    with hogs({core}, each=3):
        node.up()
        start(node, "job", row_s=0.002, cores=[core])
        found = kinds_until(node, {"job": {"core"}, "": {"core"}})
    assert "other programs have the cores" in found["job"]["says"]
    assert "more workers do not help" in found["job"]["do"]
    assert "torage" not in found["job"]["says"]


@pytest.mark.slow
def test_jobs_beside_hogs_on_all_cores_wait_for_a_core(node: Node) -> None:
    node.up()
    with hogs(os.sched_getaffinity(0), each=3):
        for name in ("one", "other"):
            start(node, name, row_s=0.004, step_s=0.005, num_workers=2)
        kinds_until(node, {"one": {"core"}, "other": {"core"}, "": {"core"}})


@pytest.mark.slow
def test_a_job_of_little_weight_is_behind_the_other(node: Node) -> None:
    node.up(workers=1)
    start(node, "small", row_s=0.004)
    start(node, "large", row_s=0.004, weight=20)
    found = kinds_until(node, {"small": {"share"}, "large": {"computing", "core"}})
    assert "--weight 2" in found["small"]["do"]
