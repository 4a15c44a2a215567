"""A job's nursery and its workers: whatever is killed, no row is lost and no process stays."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.processes.conftest import Node, alive, family, nurseries
from tests.processes.jobs import Job, wait_until

READ = """
options = json.loads(sys.argv[1])
rest_s = options.pop("rest_s", 0)
if __name__ == "__main__":
    loader = joader.DataLoader(Signed(300, slow_s=0.005), batch_size=10, shuffle=True, **options)
    rows = []
    for number, batch in enumerate(loader):
        rows += check(batch)
        time.sleep(rest_s)
        if number in (4, 9):
            say("reading")
            sys.stdin.readline()
    say(rows)
    say([child for child in __import__("multiprocessing").active_children()])
    loader.close()
"""


def reading(node: Node, **options: object) -> Job:
    job = node.job(READ, json.dumps({"num_workers": 2, "key": "k", **options}))
    assert job.line() == "reading"
    return job


def finished(job: Job) -> tuple[list[int], str]:
    """Let a job go on to its end, and return its rows and what it wrote to standard error."""
    out, err = job.process.communicate("on\n" * 2, timeout=60)
    assert job.process.returncode == 0, err
    *_, rows, known = map(json.loads, out.splitlines())
    assert known == []
    return rows, err


def nursery_of(job: Job) -> int:
    (nursery,) = nurseries(job.process.pid)
    return nursery


def gone(*pids: int) -> None:
    wait_until(lambda: not any(map(alive, pids)))


def test_a_nursery_that_is_killed_is_replaced_and_no_row_is_lost(node: Node) -> None:
    node.up()
    job = reading(node)
    nursery = nursery_of(job)
    _, *workers = family(nursery)
    assert workers
    os.kill(nursery, signal.SIGKILL)
    gone(nursery, *workers)
    job.say("on")
    assert job.line() == "reading"
    assert nursery_of(job) != nursery
    rows, err = finished(job)
    assert sorted(rows) == list(range(300))
    assert "the process that bears this loader's workers was killed; another is born" in err
    assert "Traceback" not in err


def test_nurseries_may_be_killed_again_and_again(node: Node) -> None:
    node.up()
    job = reading(node, rest_s=0.2)
    job.say("on")
    for _ in range(4):
        before = len(node.signed())
        wait_until(lambda: len(node.signed()) > before + 10 or job.process.poll() is not None)  # noqa: B023
        os.kill(nursery_of(job), signal.SIGKILL)
        job.say("on")
    rows, err = finished(job)
    assert sorted(rows) == list(range(300))
    assert len({nursery for _, _, nursery in node.signed()}) >= 4
    assert "Traceback" not in err


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_a_nursery_that_was_loaded_anew_is_replaced_too(node: Node, context: str) -> None:
    node.up()
    job = reading(node, multiprocessing_context=context)
    nursery = node.signed()[0][2]
    os.kill(nursery, signal.SIGKILL)
    rows, err = finished(job)
    assert sorted(rows) == list(range(300))
    assert "another is born" in err
    assert len({nursery for _, _, nursery in node.signed()}) == 2


TWO_PASSES = """
loader = joader.DataLoader(Signed(120), batch_size=10, shuffle=True, num_workers=1, key="k")
passes = [iter(loader), iter(loader)]
rows = [check(next(one)) for one in passes]
nursery = passes[0].connection.nursery
os.kill(nursery._process.pid, signal.SIGKILL)
os.waitid(os.P_PIDFD, nursery.pidfd, os.WEXITED | os.WNOWAIT)
if sys.argv[1] == "another begins":
    passes.append(iter(loader))
    rows.append([])
for number, one in enumerate(passes):
    for batch in one:
        rows[number] += check(batch)
say([sorted(read) == list(range(120)) for read in rows])
loader.close()
"""


@pytest.mark.parametrize("what", ["none begins", "another begins"])
def test_passes_of_one_loader_share_the_nursery_that_replaces_theirs(node: Node, what: str) -> None:
    node.up()
    (same,) = node.job(TWO_PASSES, what).result()
    assert all(same)
    assert len({nursery for _, _, nursery in node.signed()}) == 2


CHANGES = """
if __name__ == "__main__":
    with open("rows.py", "w") as file:
        file.write(sys.argv[1])
    import rows
    loader = joader.DataLoader(
        rows.Rows(), 10, shuffle=True, num_workers=1, multiprocessing_context="spawn"
    )
    passing, read = iter(loader), []
    for number, batch in enumerate(passing):
        read += batch.tolist()
        if number == 3:
            with open("rows.py", "w") as file:
                file.write(sys.argv[1].replace("row + 0", "row + 100"))
            os.kill(passing.connection.nursery._process.pid, signal.SIGKILL)
    say(read)
    loader.close()
"""
ROWS = """
import time

class Rows:
    def __len__(self):
        return 90

    def __getitem__(self, row):
        time.sleep(0.005)
        return row + 0
"""


def test_a_nursery_that_has_loaded_other_code_does_not_serve_under_the_name_of_the_first(
    node: Node,
) -> None:
    """Who shares the rows of the old code must not be given those of the new."""
    node.up()
    (read,) = node.job(CHANGES, ROWS).result()
    assert sorted(row % 100 for row in read) == list(range(90))
    assert max(read) >= 100
    assert "job 2 joins" in node.log()


def test_a_nursery_that_is_stopped_while_its_job_is_killed_goes_too(node: Node) -> None:
    node.up()
    job = reading(node)
    nursery, *workers = family(nursery_of(job))
    os.kill(nursery, signal.SIGSTOP)
    try:
        job.kill(signal.SIGKILL)
        gone(nursery, *workers)
    finally:
        if alive(nursery):
            os.kill(nursery, signal.SIGCONT)
    assert node.status()["jobs"] == []
    assert node.workers() == []


def test_a_nursery_that_is_stopped_while_job_and_daemon_are_killed_goes_when_it_goes_on(
    node: Node,
) -> None:
    node.up()
    job = reading(node)
    nursery, *workers = family(nursery_of(job))
    os.kill(nursery, signal.SIGSTOP)
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None
    job.kill(signal.SIGKILL)
    gone(*workers)  # they see by themselves that the daemon is gone
    os.kill(nursery, signal.SIGCONT)
    gone(nursery)


def test_a_job_that_is_killed_takes_nursery_and_workers_along(node: Node) -> None:
    node.up()
    job = reading(node)
    processes = family(job.process.pid)
    assert len(processes) >= 3
    job.kill(signal.SIGKILL)
    job.process.wait()
    gone(*processes)


def test_a_child_of_the_user_that_outlives_a_killed_job_keeps_neither_nursery_nor_workers(
    node: Node,
) -> None:
    node.up()
    job = node.job("""
before = os.fork()
if before == 0:
    time.sleep(600)
loader = joader.DataLoader(Squares(100, slow_s=0.005), batch_size=10, num_workers=2)
reading = iter(loader)
next(reading)
between = os.fork()
if between == 0:
    time.sleep(600)
next(reading)
say([before, between])
time.sleep(600)
""")
    users = job.line()
    try:
        ours = [pid for pid in family(job.process.pid) if pid not in users]
        assert len(ours) >= 3
        job.kill(signal.SIGKILL)
        job.process.wait()
        gone(*ours)
        assert all(map(alive, users))
        assert node.status()["jobs"] == []
        wait_until(lambda: node.workers() == [])
    finally:
        for pid in users:
            os.kill(pid, signal.SIGKILL)


def test_a_job_that_is_killed_between_its_registration_and_its_births_leaves_nothing(
    node: Node,
) -> None:
    node.up()
    assert node.daemon is not None
    held = Path(f"/proc/{node.daemon.pid}/fd")
    before = len(list(held.iterdir()))
    job = node.job("""
from joader.client.reading.connection import Connection
its = joader.DataLoader(Squares(100), batch_size=10, num_workers=2)._looked().job
nursery, connection = its.bear(), Connection()
connection.register(its._spec(10, 60.0, nursery))
say("registered")
time.sleep(600)
""")
    assert job.line() == "registered"
    nursery = nursery_of(job)
    assert len(node.status()["jobs"]) == 1
    job.kill(signal.SIGKILL)
    gone(nursery)
    wait_until(lambda: node.status()["jobs"] == [])
    wait_until(lambda: len(list(held.iterdir())) <= before)


def test_a_job_that_is_killed_at_any_moment_leaves_nothing(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(100, slow_s=0.005), batch_size=10, num_workers=2)
say("made")
for batch in loader:
    pass
"""
    for number in range(6):
        job = node.job(script)
        assert job.line() == "made"
        time.sleep(0.03 * number)
        processes = family(job.process.pid)
        job.kill(signal.SIGKILL)
        job.process.communicate(timeout=20)  # its output is open as long as a child has it
        gone(*processes)
        wait_until(lambda: node.status()["jobs"] == [])
    wait_until(lambda: node.workers() == [])


def test_a_nursery_outlives_the_daemon_and_serves_the_next(node: Node) -> None:
    node.up()
    job = reading(node)
    nursery, *workers = family(nursery_of(job))
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    gone(*workers)
    assert alive(nursery)
    node.up()
    rows, err = finished(job)
    assert sorted(rows) == list(range(300))
    assert {one for _, _, one in node.signed()} == {nursery}
    assert "Traceback" not in err


def test_a_nursery_ends_with_its_loader_and_not_before(node: Node) -> None:
    node.up()
    job = node.job("""
import gc
from pathlib import Path
def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
loader = joader.DataLoader(Squares(40), batch_size=10, num_workers=2)
for _ in range(2):
    list(loader)
    say(children())
it = iter(loader)
next(it)
loader.close()
say(children())
rows = [row for batch in loader for row in check(batch)]
say(rows)
say(children())
del it, loader
gc.collect()
say(children())
""")
    first, second, closed, rows, again, last = job.result()
    assert len(first) == 1
    assert first == second
    assert closed == []
    assert rows == list(range(40))
    assert len(again) == 1
    assert last == []


def test_two_loaders_and_ten_epochs_leave_no_zombie_and_no_descriptor(node: Node) -> None:
    node.up()
    job = node.job("""
from pathlib import Path
def held():
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
              for pid in children]
    return [len(os.listdir("/proc/self/fd")), len(children), states.count("Z")]
class Scaled(Squares):
    scale = 1
train = joader.DataLoader(Scaled(60), batch_size=10, shuffle=True, num_workers=2)
test = joader.DataLoader(Squares(30), batch_size=10, num_workers=1)
say(held())
for epoch in range(10):
    for loader in (train, test):
        rows = [row for batch in loader for row in check(batch)]
        assert len(rows) == len(loader.dataset)
    train.dataset.scale += epoch % 2  # so that every other epoch has a new nursery
    say(held())
train.close()
test.close()
time.sleep(0.5)
say(held())
""")
    before, *epochs, after = job.result()
    assert before[1:] == [0, 0]
    assert all(children <= 3 for _, children, _ in epochs)  # one may be on its way out
    assert all(zombies <= 1 for _, _, zombies in epochs)
    descriptors = [count for count, _, _ in epochs]
    assert max(descriptors[2:]) <= max(descriptors[:2])
    assert after == before


def test_a_terminal_s_signals_end_the_job_and_not_its_rows(node: Node) -> None:
    """SIGINT and SIGTERM go to the whole group: who saves a checkpoint then still needs rows."""
    node.up()
    job = node.job("""
os.setsid()
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
loader = joader.DataLoader(Squares(200, slow_s=0.005), batch_size=10, num_workers=2)
rows = []
for number, batch in enumerate(loader):
    rows += check(batch)
    if number == 3:
        say("reading")
        sys.stdin.readline()
say(len(told))
say(rows)
""")
    assert job.line() == "reading"
    processes = family(job.process.pid)
    for pid in processes:
        os.kill(pid, signal.SIGTERM)
    job.say("on")
    told, rows = job.result()
    assert told == 1
    assert rows == list(range(200))
    assert node.workers() == []
