"""No daemon for a job, from the start or in mid-epoch: the pass goes on inside the job."""

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from joader.daemon.lifecycle import connected
from joader.messages import PROTOCOL, Hello, Refuse, Stop
from joader.wire import frame
from tests.processes.conftest import Node
from tests.processes.jobs import Job, wait_until
from tests.processes.test_sharing import read

LINE = "no daemon serves this job, so it loads by itself"

# Random numbers from all the generators that there are, drawn by the dataset and by an own part.
NOISY = """
import random
class Noisy(Squares):
    def __getitem__(self, row):
        array, row = super().__getitem__(row)
        return array, row, random.random(), np.random.rand()

def more(sample):
    return (*sample, random.random())

arguments = json.loads(sys.argv[1])
timeout = arguments.pop("timeout", 60)
if arguments.pop("own", False):
    arguments["transform"] = [more]
if "sampler" in arguments:
    arguments["shuffle"] = None
data = Noisy(120)
loader = joader.DataLoader(data, **{"batch_size": 8, "shuffle": True, "key": "n", **arguments})
read, sizes = [], []
for number, batch in enumerate(loader):
    check(batch[:2])
    sizes.append(len(batch[1]))
    read += [list(row) for row in zip(*(part.tolist() for part in batch[1:]))]
    if number == 4:
        say("reading")
        sys.stdin.readline()
        loader.timeout = timeout
say(read)
say(sizes)
stats = loader.stats()
say([stats.delivered, stats.prepared, stats.hits, stats.fallback])
"""


@pytest.fixture(autouse=True)
def _daemons_of_jobs_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_IDLE_S", "1")


def bar(node: Node) -> None:
    """Let no daemon be started: its lock cannot be opened. (root may write to any folder.)"""
    lock = node.run / "daemon.sock.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()


def crash(node: Node) -> None:
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None


def finished(job: Job) -> tuple[list[Any], str]:
    """Return what a job said, and what it wrote to standard error."""
    out, err = job.process.communicate("on\n", timeout=60)
    assert job.process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()], err


def reading(node: Node, arguments: str) -> Job:
    job = node.job(NOISY, arguments)
    assert job.line() == "reading"
    return job


@pytest.mark.parametrize("own", ["", ', "own": true'])
def test_a_seeded_pass_that_loses_its_daemon_gives_the_same_batches(node: Node, own: str) -> None:
    arguments = f'{{"order": "seeded", "seed": 11{own}}}'
    node.up()
    whole, _ = finished(reading(node, arguments))
    assert whole[2][3] == 0
    job = reading(node, arguments)
    crash(node)
    bar(node)
    (rows, sizes, counts), err = finished(job)
    assert (rows, sizes) == (whole[0], whole[1])
    assert sorted(row[0] for row in rows) == list(range(120))
    assert counts[0] == counts[1] + counts[2] == 120
    assert 0 < counts[3] <= 80
    assert err.count(LINE) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"shuffle": false}',
        '{"drop_last": true, "batch_size": 7}',
        '{"batch_size": 5, "sampler": [' + ", ".join(str(7 * n % 120) for n in range(120)) + "]}",
    ],
)
def test_a_pass_in_any_order_goes_on_when_the_daemon_is_killed(node: Node, arguments: str) -> None:
    node.up()
    job = reading(node, arguments)
    crash(node)
    bar(node)
    (rows, sizes, counts), err = finished(job)
    numbers = [row[0] for row in rows]
    if "drop_last" in arguments:
        assert (len(numbers), len(set(numbers)), set(sizes)) == (119, 119, {7})
    else:
        assert sorted(numbers) == list(range(120))
    if "sampler" in arguments:
        assert numbers == [7 * n % 120 for n in range(120)]
    if "false" in arguments:
        assert numbers == list(range(120))
    assert len({row[1] for row in rows}) == len(rows)  # no random number twice
    assert counts[0] == counts[1] + counts[2] == len(rows)
    assert err.count(LINE) == 1
    assert "Traceback" not in err


def test_the_next_pass_uses_the_daemon_again(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(60), batch_size=6, shuffle=True, key="k")
for epoch in range(3):
    rows = [row for batch in loader for row in check(batch)]
    say([sorted(rows) == list(range(60)), loader.stats().fallback])
    sys.stdin.readline()
"""
    job = node.job(script)
    assert job.line() == [True, 0]
    crash(node)
    bar(node)
    job.say("on")
    assert job.line() == [True, 60]
    (node.run / "daemon.sock.lock").rmdir()
    node.up()
    job.say("on")
    assert job.line() == [True, 60]
    assert node.status()["totals"]["delivered"] == 60


def test_a_daemon_that_stopped_is_given_up_after_timeout(node: Node) -> None:
    node.up()
    assert node.daemon is not None
    script = """
loader = joader.DataLoader(Squares(200), batch_size=10, shuffle=True, key="k")
rows = []
for number, batch in enumerate(loader):
    rows += check(batch)
    if number == 4:
        say("reading")
        sys.stdin.readline()
        loader.timeout = 1
say([sorted(rows) == list(range(200)), loader.stats().fallback])
sys.stdin.readline()
loader.timeout = 60
rows = [row for batch in loader for row in check(batch)]
say([sorted(rows) == list(range(200)), loader.stats().fallback])
"""
    job = node.job(script)
    assert job.line() == "reading"
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        job.say("on")
        once, alone = job.line()
    finally:
        node.daemon.send_signal(signal.SIGCONT)
    assert once
    assert 0 < alone <= 150
    wait_until(lambda: node.status()["jobs"] == [])  # it let go of the job it was left by
    wait_until(lambda: node.status()["memory"]["pinned_bytes"] == 0)
    job.say("on")
    (rest,), err = finished(job)
    assert rest == [True, alone]
    assert err.count(LINE) == 1
    assert "and it does not answer" in err


# With torch loaded a job that has workers goes on with torch's: it asks for batches otherwise.
WITH_TORCH = """
import torch
from joader.client.reading import connection, job
from joader.client.reading import delivery as patience

def register(self, spec, register=connection.Connection.register):
    if loses:
        os.kill(self.daemon_pid, signal.SIGKILL)
    return register(self, spec)

loses, connection.Connection.register = False, register
job.CONNECT_TRIES, patience._WHY_S = 1, 0.2
options = {"batch_size": 8, "shuffle": True, "timeout": 60, **json.loads(sys.argv[1])}
loader = joader.DataLoader(Squares(128), num_workers=2, key="k", **options)
rows = []
for number, batch in enumerate(loader):
    rows += check([part.numpy() for part in batch])
    if number == int(sys.argv[2]):
        say(number)
        loses, loader.timeout = bool(sys.stdin.readline().strip()), 1
say(rows)
say([loader.stats().fallback, len(torch.multiprocessing.active_children())])
"""


REVERSED = list(range(128))[::-1]


def killed(node: Node, job: Job) -> None:
    """Kill the daemon, and let none be started."""
    crash(node)
    bar(node)
    job.say("")


def stopped(node: Node, job: Job) -> None:
    """Stop it for longer than `timeout`."""
    assert node.daemon is not None
    node.daemon.send_signal(signal.SIGSTOP)
    job.say("")


def refused(node: Node, job: Job) -> None:
    """Kill it, and start one that has no room for the job."""
    crash(node)
    node.up("4KiB")
    job.say("")


def killed_twice(node: Node, job: Job) -> None:
    """Kill it, and the next one while the job registers."""
    crash(node)
    job.say("lose the next")


@pytest.mark.parametrize("loses", [killed, stopped, refused, killed_twice])
@pytest.mark.parametrize(
    ("step", "sampler"),
    [
        (5, None),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(0, None), (9, REVERSED)]),
    ],
)
def test_a_job_with_workers_and_torch_goes_on_when_its_daemon_is(
    node: Node, loses: Callable[[Node, Job], None], step: int, sampler: list[int] | None
) -> None:
    node.up()
    order = {} if sampler is None else {"shuffle": None, "sampler": sampler}
    job = node.job(WITH_TORCH, json.dumps(order), str(step))
    assert job.line() == step
    loses(node, job)
    try:
        rows, (alone, left) = job.result()
    finally:
        if loses is stopped and node.daemon is not None:
            node.daemon.send_signal(signal.SIGCONT)
    assert sorted(rows) == list(range(128))
    assert sampler is None or rows == sampler
    assert 0 < alone <= 128 - 8 * (step + 1)
    assert left == 0


def test_without_fallback_a_daemon_that_stopped_is_an_error(node: Node) -> None:
    node.up()
    assert node.daemon is not None
    job = reading(node, '{"fallback": false, "timeout": 1}')
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        job.say("on")
        assert re.search("Overdue: .*no batch came .* does not answer", job.error())
    finally:
        node.daemon.send_signal(signal.SIGCONT)


def test_without_fallback_a_daemon_that_is_gone_is_an_error(node: Node) -> None:
    node.up()
    job = reading(node, '{"fallback": false}')
    crash(node)
    bar(node)
    job.say("on")
    assert "NoDaemon: cannot reach or start a daemon" in job.error()


def test_a_job_that_does_not_fit_the_budget_loads_by_itself(node: Node) -> None:
    node.up("256KiB")
    job = read(node, data={"length": 60, "side": 128}, batch_size=32, key="k")
    words, err = finished(job)
    assert sorted(words[1]) == list(range(60))
    assert err.count(LINE) == 1
    assert "joader up --memory" in err
    assert node.status()["jobs"] == []


@pytest.fixture
def stranger(node: Node) -> Iterator[Any]:
    """Something that listens where the daemon should, and answers every Hello with these bytes."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(node.socket))
    listener.listen()
    answers: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with sock:
                sock.recv(4096)
                sock.sendall(answers[0])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield answers
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    node.socket.unlink()


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (frame(Refuse("this daemon speaks protocol 1, the client 9")), "speaks protocol 1"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not a daemon we know"),
        (b"", "went away"),
    ],
)
def test_what_we_cannot_talk_to_is_left_alone(
    node: Node, stranger: Any, answer: bytes, word: str
) -> None:
    stranger.append(answer)
    words, err = finished(read(node, data={"length": 30}, batch_size=7, key="k"))
    assert sorted(words[1]) == list(range(30))
    assert err.count(LINE) == 1
    assert word in err
    strict = read(node, data={"length": 30}, batch_size=7, key="k", fallback=False)
    assert word in strict.error()


def test_code_that_hangs_is_not_taken_into_the_job(node: Node) -> None:
    node.up()
    job = read(node, data={"length": 4, "slow_s": 60}, batch_size=2, timeout=1)
    error = job.error()
    assert re.search("RowFailed|Overdue", error)
    assert LINE not in error


def test_a_batch_sampler_may_surprise_a_job_that_loads_by_itself(node: Node) -> None:
    node.up()
    script = """
def batches():
    yield [0, 1]
    say("reading")
    sys.stdin.readline()
    yield from ([2], [3, 4, 5, 6, 7, 8, 9], [9, 9])
loader = joader.DataLoader(Squares(10), batch_sampler=batches())
say([check(batch) for batch in loader])
"""
    job = node.job(script)
    assert job.line() == "reading"
    crash(node)
    bar(node)
    (rows,), err = finished(job)
    assert rows == [[0, 1], [2], [3, 4, 5, 6, 7, 8, 9], [9, 9]]
    assert err.count(LINE) == 1


def test_a_daemon_that_is_ended_by_force_ends_no_job(node: Node) -> None:
    node.up()
    job = reading(node, "{}")
    assert node.daemon is not None
    sock = connected(node.socket)
    assert sock is not None
    with sock:
        sock.sendall(frame(Hello(PROTOCOL, os.getpid())))
        _, (arena,), _, _ = socket.recv_fds(sock, 4096, 1)
        os.close(arena)
        sock.sendall(frame(Stop()))
        assert node.daemon.wait(20) == 0
    node.daemon = None
    (rows, _, counts), err = finished(job)
    assert sorted(row[0] for row in rows) == list(range(120))
    assert counts[0] == counts[1] + counts[2] == 120
    assert "Traceback" not in err
