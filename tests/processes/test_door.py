"""Who knocks, how many, how slowly, and who may come in: raw sockets and a real daemon."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.client.reading.births import Nursery
from joader.daemon.lifecycle import connected
from joader.errors import ConnectionLost
from joader.images import Steps
from joader.messages import (
    MY_JOB,
    PROTOCOL,
    AskStatus,
    Begin,
    Deliver,
    Hello,
    JobSettings,
    Join,
    Refuse,
    Register,
    Registered,
    Release,
    Status,
    ToClient,
    Want,
)
from joader.recipe.parts import OwnPart, SharedPart
from joader.wire import Channel, frame
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read
from tests.warm import process as warm


def knock(node: Node) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(20)
    sock.connect(os.fspath(node.socket))
    return sock


def enter(node: Node) -> Channel[Any]:
    sock = knock(node)
    sock.sendall(frame(Hello(PROTOCOL, os.getpid())))
    _, descriptors, _, _ = socket.recv_fds(sock, 4096, 1)
    for descriptor in descriptors:
        os.close(descriptor)
    return Channel(sock, ToClient)


def register(recipe: str = "r", rows: int = 20, **more: Any) -> Register:
    """Return a registration; fields that no Join has are its own."""
    own = {name: more.pop(name) for name in list(more) if name in Register.__struct_fields__}
    fields = {"batch_size": 4, "rows": np.arange(rows), "row_limit": rows} | more
    return Register(Join(MY_JOB, recipe, **fields), JobSettings("raw"), **own)


def join(channel: Channel[Any], spec: Register) -> None:
    channel.send(spec)
    assert isinstance(channel.receive(20), Registered)


def answered(sock: socket.socket) -> Refuse:
    message = Channel[Any](sock, Refuse).receive(20)
    assert isinstance(message, Refuse)
    return message


def memory_of(pid: int, what: str = "RssAnon") -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.fixture
def up(node: Node) -> Node:
    node.up("16MiB")
    return node


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_is_refused_by_the_daemon_and_finds_out_why(up: Node, tmp_path: Path) -> None:
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    up.run.chmod(0o755)
    up.socket.chmod(0o777)  # so that nothing but the daemon stands in the way
    script = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
print(sock.recv(4096))
"""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    result = subprocess.run(
        [*nobody, "/usr/bin/env", "python3", "-I", "-c", script, str(up.socket)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "user 65534 may not use the daemon of user 0" in result.stdout, result.stderr
    up.socket.chmod(0o600)
    result = subprocess.run(
        [*nobody, "/usr/bin/env", "python3", "-I", "-c", script, str(up.socket)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "PermissionError" in result.stderr


def test_the_socket_is_for_its_user_alone(up: Node) -> None:
    assert up.socket.stat().st_mode & 0o777 == 0o600


def test_code_and_samples_of_users_are_loaded_in_their_own_processes_alone(up: Node) -> None:
    """Under spawn the dataset travels as a pickle, and samples may: never through the daemon."""
    script = """
class Telltale:
    def __init__(self, what):
        self.what = what
    def __getstate__(self):
        return self.__dict__
    def __setstate__(self, state):
        self.__dict__.update(state)
        with open(f"loaded-{self.what}", "a") as file:
            file.write(f"{os.getpid()}\\n")

class Data(Telltale):
    def __len__(self):
        return 20
    def __getitem__(self, row):
        return Telltale("sample")

if __name__ == "__main__":
    data = Data("data")
    loader = joader.DataLoader(
        data, batch_size=4, num_workers=2, multiprocessing_context="spawn", collate_fn=list
    )
    say(sum(len(batch) for batch in loader))
    say(os.getpid())
    loader.close()
"""
    assert up.daemon is not None
    delivered, job = up.job(script).result()
    assert delivered == 20
    (nursery,) = {*map(int, (up.folder / "loaded-data").read_text().split())}
    assert nursery not in (up.daemon.pid, job)
    assert {*map(int, (up.folder / "loaded-sample").read_text().split())} == {job}


def test_silent_and_slow_clients_cost_nothing(up: Node) -> None:
    assert up.daemon is not None
    job = read(up, data={"length": 200}, batch_size=8)
    before = memory_of(up.daemon.pid)
    silent = [knock(up) for _ in range(100)]
    inside = [enter(up) for _ in range(100)]
    for channel in inside:  # a message of a GiB, of which a byte comes now and then
        channel.socket.sendall((1 << 30).to_bytes(4, "big"))
    for _ in range(5):
        for channel in inside:
            with contextlib.suppress(OSError):  # it is refused: larger than all clients may send
                channel.socket.sendall(b"\x80")
        time.sleep(0.02)
    assert sorted(job.result()[1]) == list(range(200))
    assert memory_of(up.daemon.pid) < before + 16 * 2**20
    assert answered(silent[0]).reason == "no hello came within 5 s"
    for sock in [*silent, *(channel.socket for channel in inside)]:
        sock.close()


def test_unfinished_messages_of_all_clients_are_bounded(up: Node) -> None:
    assert up.daemon is not None
    before = memory_of(up.daemon.pid)
    clients = [enter(up) for _ in range(4)]
    piece = b"x" * (100 << 20)
    refused = 0
    for client in clients:
        client.socket.settimeout(20)
        with contextlib.suppress(ConnectionError):
            client.socket.sendall((200 << 20).to_bytes(4, "big") + piece)
    for client in clients:
        client.socket.settimeout(0.5)
        with contextlib.suppress(TimeoutError, ConnectionLost):
            answer = client.receive(0.5)
            assert "of the daemon's own memory; at most" in answer.reason
            refused += 1
    assert refused >= 1
    assert memory_of(up.daemon.pid) < before + 400 * 2**20
    assert memory_of(up.daemon.pid, "VmHWM") < 600 * 2**20
    for client in clients:
        client.close()
    wait_until(lambda: memory_of(up.daemon.pid) < before + 32 * 2**20)


def test_a_client_that_never_reads_is_not_listened_to(up: Node) -> None:
    assert up.daemon is not None
    before = memory_of(up.daemon.pid)
    deaf = enter(up)
    deaf.socket.settimeout(1)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 4 * 2**20:
            sent += deaf.socket.send(frame(AskStatus()) * 1000)
    assert sent < 4 * 2**20
    assert memory_of(up.daemon.pid) < before + 16 * 2**20
    assert up.status()["pid"] == up.daemon.pid
    count = 0
    with contextlib.suppress(TimeoutError):  # once it reads, it is answered
        while count < 2000:
            assert isinstance(deaf.receive(1), Status)
            count += 1
    assert count == 2000
    deaf.close()


def test_batches_that_are_not_read_are_not_owed_without_end(up: Node) -> None:
    channel = enter(up)
    join(channel, register(ticket="of a nursery that never comes"))
    channel.send(Begin(MY_JOB, 0, key=1, number=1))
    with contextlib.suppress(ConnectionLost):
        for _ in range(2000):
            channel.send(Want(MY_JOB, 4))
    answers = []
    with contextlib.suppress(ConnectionLost):
        while True:
            answers.append(channel.receive(20))
    channel.close()
    assert "batches were asked for and not read" in answers[-1].reason
    wait_until(lambda: up.status()["jobs"] == [])


def test_more_clients_than_there_are_descriptors_for_are_turned_away(node: Node) -> None:
    command = f"{sys.executable} -m joader.daemon.main --socket={node.socket}"
    command = f"ulimit -n 256; exec {command} --memory=16MiB --workers=2 --idle=0"
    with (node.run / "daemon.log").open("w") as log:
        node.daemon = subprocess.Popen(["sh", "-c", command], stderr=log)
    wait_until(node.listens)
    job = read(node, data={"length": 400, "slow_s": 0.002}, batch_size=8)
    assert job.line() == "ready"
    wait_until(lambda: node.status()["jobs"])
    crowd = []
    turned_away = None
    for _ in range(300):
        sock = knock(node)
        crowd.append(sock)
        sock.sendall(frame(Hello(PROTOCOL, os.getpid())))
        data, descriptors, _, _ = socket.recv_fds(sock, 4096, 1)
        for descriptor in descriptors:
            os.close(descriptor)
        if not descriptors:
            turned_away = data
            break
    assert turned_away is not None
    assert b"clients; it can serve no more" in turned_away
    assert descriptors_of(node.daemon.pid) < 256
    assert sorted(job.result()[0]) == list(range(400))
    for sock in crowd:
        sock.close()
    wait_until(lambda: node.status()["pid"] == node.daemon.pid)


def test_a_worker_that_speaks_nonsense_is_killed_and_its_rows_are_tried_again(up: Node) -> None:
    script = """
class Babbler(Squares):
    def __getitem__(self, row):
        if row == 7 and not os.path.exists("babbled"):
            open("babbled", "w").close()
            import socket, stat
            for number in range(3, 300):
                try:
                    if stat.S_ISSOCK(os.fstat(number).st_mode):
                        os.write(number, NONSENSE)
                except OSError:
                    pass
            time.sleep(30)
        return super().__getitem__(row)
loader = joader.DataLoader(Babbler(60), batch_size=8, shuffle=True, num_workers=1)
say([row for batch in loader for row in check(batch)])
loader.close()
"""
    lie = frame(Hello(1, 1))
    for nonsense in (b"\xff" * 40, b"\x00\x00\x00\x03abc", lie):
        (up.folder / "babbled").unlink(missing_ok=True)
        job = up.job(script.replace("NONSENSE", repr(nonsense)))
        assert sorted(job.result()[0]) == list(range(60))
        assert (up.folder / "babbled").exists()
    assert up.log().count("it sent an invalid message") == 3


def test_a_daemon_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    """A socket in the right place, and somebody else behind it."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = Path("/tmp") / f"joader-test-{os.getpid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    script = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
sock.listen()
print("listening", flush=True)
sock.accept()[0].recv(1000)
"""
    path = folder / "daemon.sock"
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env"]
    other = subprocess.Popen(
        [*nobody, "python3", "-I", "-c", script, str(path)], stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"listening\n"
        code = "import joader.client.reading.connection as c; c.Connection()"
        result = warm.run(
            [sys.executable, "-c", code],
            env={**os.environ, "JOADER_ADDRESS": str(path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "is of user 65534" in result.stderr
    finally:
        other.kill()
        other.communicate()
        shutil.rmtree(folder)


def test_the_watched_process_is_the_one_that_connected(up: Node) -> None:
    """Who says another's number in its hello is not watched by it."""
    sock = knock(up)
    sock.sendall(frame(Hello(PROTOCOL, 1)))
    _, descriptors, _, _ = socket.recv_fds(sock, 4096, 1)
    for descriptor in descriptors:
        os.close(descriptor)
    channel: Channel[Any] = Channel(sock, ToClient)
    join(channel, register())
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    assert up.daemon is not None
    assert struct.unpack("3i", credentials)[0] == up.daemon.pid
    assert [job["pid"] for job in up.status()["jobs"]] == [os.getpid()]
    channel.close()


def test_who_said_hello_while_the_daemon_was_stopped_is_let_in(node: Node) -> None:
    node.up()
    assert node.daemon is not None
    sock = connected(node.socket)
    assert sock is not None
    time.sleep(0.5)  # it has begun to wait for the hello
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        sock.sendall(frame(Hello(PROTOCOL, os.getpid())))
        time.sleep(6)
    finally:
        node.daemon.send_signal(signal.SIGCONT)
    sock.settimeout(20)
    data, descriptors, _, _ = socket.recv_fds(sock, 4096, 1)
    assert len(descriptors) == 1, data
    os.close(descriptors[0])
    sock.close()


def test_a_daemon_that_ends_waits_until_a_job_has_copied_its_batch(up: Node) -> None:
    assert up.daemon is not None
    shared, own = SharedPart(list(range(20)), Steps(())), OwnPart(Steps(()))
    nursery = Nursery(multiprocessing.get_context("fork"), shared, own, 1)
    channel = enter(up)
    join(channel, register(ticket=nursery.ticket, workers=1))
    nursery.attend(str(up.socket), up.daemon.pid)
    channel.send(Begin(MY_JOB, 0, key=1, number=1), Want(MY_JOB, 4))
    batch = channel.receive(20)
    assert isinstance(batch, Deliver)
    assert not batch.failed
    up.daemon.send_signal(signal.SIGTERM)
    # Its slots would be another's as soon as it counts as gone.
    with pytest.raises(TimeoutError):
        channel.receive(2)
    channel.send(Release(MY_JOB, batch.samples))
    with pytest.raises(ConnectionLost):
        channel.receive(20)
    channel.close()
    nursery.end()
    assert up.daemon.wait(20) == 0


@pytest.mark.parametrize("role", ["nursery", "worker", "emperor"])
def test_who_has_no_ticket_that_a_job_has_registered_is_turned_away(up: Node, role: str) -> None:
    """A worker's welcome brings memory that can be written: nobody gets it for the asking."""
    channel = enter(up)
    join(channel, register(ticket="secret"))
    for ticket in ("", "guessed", "secret"):
        sock = knock(up)
        sock.sendall(frame(Hello(PROTOCOL, os.getpid(), role, ticket, 0)))
        data, descriptors, _, _ = socket.recv_fds(sock, 4096, 2)
        assert not descriptors
        if role == "nursery" and ticket == "secret":
            assert b"Welcome" in data
        else:
            assert b"Refuse" in data
        sock.close()
    channel.close()
    wait_until(lambda: up.status()["jobs"] == [])
