"""Workers, nurseries and whole jobs that are stopped, or hold the interpreter: others go on.

SIGSTOP, `docker pause`, a debugger, a laptop that sleeps; and native code that keeps the lock.
"""

import json
import os
import signal
import time
from contextlib import suppress

import pytest

from tests.processes.conftest import Node, alive, children, family, nurseries
from tests.processes.jobs import Job, wait_until

# Long enough for a machine under load; without help a row waits for its `timeout`, 120 s.
SOON_S = 30.0

READ = """
options = json.loads(sys.argv[1])
epochs = options.pop("epochs", 1)
data = Squares(200, side=64, slow_s=0.01)
loader = joader.DataLoader(data, **{"batch_size": 10, "shuffle": True, "key": "k", **options})
for epoch in range(epochs):
    rows = []
    for number, batch in enumerate(loader):
        rows += check(batch)
        if number == 2 and epoch == 0:
            say("reading")
    say(rows)
"""


def reading(node: Node, **options: object) -> Job:
    job = node.job(READ, json.dumps(options))
    assert job.line() == "reading"
    return job


def stop(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def go_on(*pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def rows_within(job: Job, seconds: float) -> list[int]:
    """Return the rows of a job's pass, which must not take longer."""
    begun = time.monotonic()
    rows: list[int] = job.line()
    assert time.monotonic() - begun < seconds
    return rows


def test_a_worker_that_is_stopped_holds_up_neither_its_job_nor_another(node: Node) -> None:
    """When it goes on, it writes to a slot that is still its own: no bytes of others change."""
    node.up("2MiB")  # so that slots are used again and again
    first = reading(node, num_workers=1, epochs=3)
    second = reading(node, num_workers=1, epochs=3)
    (nursery,) = nurseries(first.process.pid)
    (worker, *_) = children(nursery)
    stop(worker)
    try:
        for job in (second, first):
            assert sorted(rows_within(job, SOON_S)) == list(range(200))
    finally:
        go_on(worker)
    for job in (second, first):
        for rows in job.result():
            assert sorted(rows) == list(range(200))


def test_workers_that_are_stopped_and_go_on_again_and_again_damage_nothing(node: Node) -> None:
    node.up("2MiB")
    jobs = [reading(node, num_workers=2, epochs=2, order=order) for order in ("shared", "seeded")]
    while any(job.process.poll() is None for job in jobs):
        workers = node.workers()
        for worker in workers:
            with suppress(ProcessLookupError):
                stop(worker)
                time.sleep(0.05)
                go_on(worker)
    for job in jobs:
        for rows in job.result():
            assert sorted(rows) == list(range(200))


def test_a_worker_that_stays_stopped_is_killed_with_its_job(node: Node) -> None:
    node.up()
    job = reading(node, num_workers=2)
    processes = family(job.process.pid)
    stop(*node.workers())
    job.kill(signal.SIGKILL)
    job.process.wait()
    wait_until(lambda: not any(map(alive, processes)))


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 1},
        {"num_workers": 0},
        pytest.param({"num_workers": 1, "lend": False}, marks=pytest.mark.slow),
        pytest.param({}, marks=pytest.mark.slow),
    ],
    ids=["with a worker", "without workers", "with a worker of its own", "with its share"],
)
def test_a_job_that_is_stopped_as_a_whole_does_not_stop_another(
    node: Node, options: dict[str, object]
) -> None:
    node.up("2MiB")
    first = reading(node, num_workers=2, epochs=6)  # it still reads when the second has begun
    second = reading(node, epochs=2, timeout=SOON_S, **options)
    stopped = family(first.process.pid)
    assert len(stopped) >= 3
    stop(*stopped)
    try:
        for _ in range(2):
            assert sorted(rows_within(second, SOON_S)) == list(range(200))
    finally:
        go_on(*stopped)
    for rows in first.result():
        assert sorted(rows) == list(range(200))


def test_a_job_that_is_stopped_and_then_killed_leaves_nothing(node: Node) -> None:
    node.up()
    job = reading(node, num_workers=2)
    stopped = family(job.process.pid)
    stop(*stopped)
    job.kill(signal.SIGKILL)
    job.process.wait()
    wait_until(lambda: not any(map(alive, stopped)))
    assert node.status()["jobs"] == []


def test_a_nursery_that_is_stopped_delays_births_and_loses_nothing(node: Node) -> None:
    node.up()
    job = reading(node, num_workers=2, epochs=3)
    (nursery,) = nurseries(job.process.pid)
    stop(nursery)
    try:
        os.kill(node.workers()[0], signal.SIGKILL)
        assert sorted(rows_within(job, SOON_S)) == list(range(200))  # by the other one
    finally:
        go_on(nursery)
    for rows in job.result():
        assert sorted(rows) == list(range(200))


# Code that keeps the interpreter to itself looks as if it was stopped.

HOLDING = """
import ctypes, re
class Holding(Squares):
    def __getitem__(self, row):
        if row == 7 and sys.argv[1] == "for ever":
            re.match(r"(a+)+$", "a" * 60 + "b")
        elif row == 7:
            ctypes.PyDLL(None).usleep(int(sys.argv[1]) * 1_000_000)  # with the lock held
        return super().__getitem__(row)
options = json.loads(sys.argv[2])
loader = joader.DataLoader(Holding(40), batch_size=4, num_workers=2, **options)
begun = time.monotonic()
say([row for batch in loader for row in check(batch)])
say(time.monotonic() - begun)
"""


def test_a_row_that_holds_the_interpreter_for_seconds_comes(node: Node) -> None:
    node.up()
    rows, seconds = node.job(HOLDING, "3", json.dumps({"timeout": 30})).result()
    assert rows == list(range(40))
    assert seconds < 20


@pytest.mark.slow  # that it is given up is in test_bad_input.py, that rows can be skipped, too
def test_a_row_that_holds_the_interpreter_for_ever_can_be_skipped(node: Node) -> None:
    node.up()
    options = json.dumps({"timeout": 6, "on_error": "skip"})
    rows, _ = node.job(HOLDING, "for ever", options).result()
    assert rows == [row for row in range(40) if row != 7]
