"""The daemon goes away in the middle of a pass: jobs see a pause, and every row comes once."""

import os
import signal
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from joader.daemon.lifecycle import connected
from joader.messages import MY_JOB, PROTOCOL, Hello, JobSettings, Join, Register
from joader.wire import frame
from tests.processes.conftest import Node, processes_with
from tests.processes.jobs import Job, wait_until

SLOW = """
loader = joader.DataLoader(Squares(300), batch_size=10, shuffle=True, key="k")
rows = []
for number, batch in enumerate(loader):
    rows += check(batch)
    if number == 9:
        say("reading")
        sys.stdin.readline()
say(rows)
stats = loader.stats()
say([stats.delivered, stats.prepared + stats.hits])
loader.close()
"""


AT_THE_SWITCH = """
from joader.client.reading.loader_view import Reading

class Changing(Squares):
    def __getitem__(self, row):
        self.latest = row
        time.sleep(0.001)
        return np.full((4, 4), row % 251, np.uint8), row

connect = Reading.connect

def connect_and_lose(self, *arguments):
    connection = connect(self, *arguments)
    if self.reads_itself and connection.daemon_pid:
        Reading.connect = connect
        os.kill(connection.daemon_pid, signal.SIGKILL)
        say("lost")
        time.sleep(0.3)
    return connection

Reading.connect = connect_and_lose
data = Changing(400)
data.latest = -1
loader = joader.DataLoader(data, batch_size=4, shuffle=True)
say([row for batch in loader for row in check(batch)])
loader.close()
"""


@pytest.fixture(autouse=True)
def _daemons_of_jobs_end_soon() -> Iterator[None]:
    os.environ["JOADER_IDLE_S"] = "1"
    yield
    del os.environ["JOADER_IDLE_S"]


def reading(node: Node, script: str = SLOW) -> Job:
    job = node.job(script)
    assert job.line() == "reading"
    return job


def test_a_pass_goes_on_with_the_daemon_that_was_started_after_a_crash(node: Node) -> None:
    node.up()
    jobs = [reading(node), reading(node)]
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.up()
    for job in jobs:
        job.say("on")
    for job in jobs:
        assert sorted(job.line()) == list(range(300))
        assert job.line() == [300, 300]
    assert node.status()["totals"]["delivered"] >= 2 * 180


def test_a_daemon_that_goes_as_a_job_begins_to_read_by_itself_costs_no_row(node: Node) -> None:
    """Reading changes its dataset, so it registers anew, without workers, within a pass."""
    job = node.job(AT_THE_SWITCH)
    assert job.line() == "lost"
    assert sorted(job.line()) == list(range(400))


def test_jobs_start_another_daemon_if_theirs_was_killed(node: Node) -> None:
    node.up()
    jobs = [reading(node), reading(node)]
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None
    for job in jobs:
        job.say("on")
    results = [job.result() for job in jobs]
    for rows, counts in results:
        assert sorted(rows) == list(range(300))
        assert counts == [300, 300]
    wait_until(lambda: not processes_with(str(node.run)))


@pytest.mark.parametrize(
    "reads", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["reads on", "rests"]
)
def test_sigterm_delivers_what_was_asked_for_and_jobs_go_on_elsewhere(
    node: Node, reads: bool
) -> None:
    node.up()
    job = reading(node)
    assert node.daemon is not None
    node.daemon.send_signal(signal.SIGTERM)
    if reads:
        job.say("on")
    assert node.daemon.wait(20) == 0  # for one that does not read it waits 10 s
    node.daemon = None
    if not reads:
        job.say("on")
    rows, counts = job.result()
    assert sorted(rows) == list(range(300))
    assert counts == [300, 300]


def test_a_job_between_two_passes_does_not_notice(node: Node) -> None:
    node.up()
    job = reading(
        node,
        """
loader = joader.DataLoader(Squares(50), batch_size=10, shuffle=True, key="k")
rows = [row for batch in loader for row in check(batch)]
say("reading")
sys.stdin.readline()
say(rows + [row for batch in loader for row in check(batch)])
loader.close()
""",
    )
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None
    job.say("on")
    assert sorted(job.result()[0]) == sorted(2 * list(range(50)))


def test_daemons_that_keep_dying_are_given_up(node: Node) -> None:
    """A dataset that ends the daemon itself: the job must not go round for ever."""
    node.up()
    script = """
from joader.client.reading.connection import Connection

class Deadly(Squares):
    def __getitem__(self, row):
        os.kill(Connection().daemon_pid, 9)
        time.sleep(60)
for batch in joader.DataLoader(Deadly(4), batch_size=2, fallback=False):
    pass
"""
    job = node.job(script)
    assert node.daemon is not None
    node.daemon.wait(20)
    node.daemon = None
    assert "NoDaemon: 4 daemons went away in the middle of this pass" in job.error()


def test_who_registers_with_a_daemon_that_ends_is_sent_to_the_next(node: Node) -> None:
    node.up()
    late = connected(node.socket)
    assert late is not None
    late.sendall(frame(Hello(PROTOCOL, os.getpid())))
    _, descriptors, _, _ = socket.recv_fds(late, 4096, 1)
    os.close(descriptors[0])
    job = node.job("""
for batch in joader.DataLoader(Squares(40, slow_s=0.1), batch_size=10, key="slow"):
    say(check(batch))
""")
    first = job.line()
    assert node.daemon is not None
    node.daemon.send_signal(signal.SIGTERM)
    wait_until(lambda: not node.socket.exists())
    join = Join(MY_JOB, "r", np.arange(4), row_limit=4, batch_size=1)
    late.sendall(frame(Register(join, JobSettings("late"))))
    late.settimeout(20)
    assert late.recv(4096) == b""  # and not a refusal, which would be for ever
    late.close()
    assert sorted(first + [row for rows in job.result() for row in rows]) == list(range(40))
    wait_until(lambda: not node.socket.exists())  # the next daemon ends, as nobody reads


def test_a_batch_that_was_being_copied_when_the_job_was_ended_comes_again(node: Node) -> None:
    # From the moment the daemon ends a job its slots may be another's.
    node.up()
    job = node.job("""
collated = 0
def collate(samples):
    global collated
    collated += 1
    if collated == 5:
        say("copying")
        sys.stdin.readline()
    return np.stack([array for array, _ in samples]), np.array([row for _, row in samples])
loader = joader.DataLoader(Squares(100), batch_size=10, shuffle=True, collate_fn=collate)
say([row for batch in loader for row in check(batch)])
say(collated)
loader.close()
""")
    assert job.line() == "copying"
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.up()
    job.say("on")
    assert sorted(job.line()) == list(range(100))
    assert job.line() in (11, 12)  # and so does the next, if it had been handed out, too
