"""A daemon of its own for each test, and a look at what is left when it is gone."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from joader.daemon.lifecycle import connected
from joader.messages import PROTOCOL, AskStatus, Hello, Status
from joader.wire import Channel, frame
from tests.processes.jobs import FLAGS, Job, wait_until
from tests.warm.process import Process


class Node:
    """A folder with a daemon."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        self.run.mkdir(mode=0o700)
        self.socket = self.run / "daemon.sock"
        self.daemon: subprocess.Popen[bytes] | None = None
        self.jobs: list[Job] = []

    def up(self, memory: str = "64MiB", workers: int = 2, *more: str) -> None:
        with (self.run / "daemon.log").open("ab") as log:
            self.daemon = Process(
                [
                    *(sys.executable, *FLAGS, "-m", "joader.daemon.main"),
                    f"--socket={self.socket}",
                    *(f"--memory={memory}", f"--workers={workers}", "--idle=0", *more),
                ],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        wait_until(self.listens)

    def listens(self) -> bool:
        sock = connected(self.socket)
        if sock is not None:
            sock.close()
        return sock is not None

    def job(self, script: str, *arguments: str, **variables: str) -> Job:
        self.jobs.append(Job(self.folder, script, *arguments, **variables))
        return self.jobs[-1]

    def status(self) -> dict[str, Any]:
        sock = connected(self.socket)
        assert sock is not None
        sock.sendall(frame(Hello(PROTOCOL, os.getpid())))
        _, descriptors, _, _ = socket.recv_fds(sock, 4096, 1)
        os.close(descriptors[0])
        channel: Channel[Status] = Channel(sock, Status)
        channel.send(AskStatus())
        body: dict[str, Any] = json.loads(channel.receive(10).body)
        channel.close()
        return body

    def workers(self) -> list[int]:
        found: list[int] = self.status()["worker_processes"]
        return found

    def signed(self) -> list[tuple[int, int, int]]:
        """Return all rows that were prepared of a `Signed`: the row, its process, its nursery."""
        path = self.folder / "signed"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(row), int(pid), int(nursery)) for row, pid, nursery in map(str.split, lines)]

    def log(self) -> str:
        return (self.run / "daemon.log").read_text()

    def down(self) -> None:
        """End the daemon and see that nothing of it is left."""
        for job in self.jobs:
            if job.process.poll() is None:
                job.process.kill()
        # Nurseries and workers hold the job's output open: it ends when they have gone.
        for job in self.jobs:
            job.process.communicate(timeout=30)
        if self.daemon is not None:
            workers = self.workers() if self.daemon.poll() is None else []
            self.daemon.send_signal(signal.SIGTERM)
            assert self.daemon.wait(20) == 0, self.log()
            wait_until(lambda: not any(alive(pid) for pid in workers))
            assert not self.socket.exists()
            assert "Traceback" not in self.log(), self.log()
        gc.collect()  # loaders of the test itself, that a cycle keeps
        wait_until(lambda: not self.processes())
        wait_until(lambda: not forked_here())

    def processes(self) -> list[int]:
        """Return all that was started here: daemons, jobs, and whatever those have started.

        Not the process that Python starts beside the test's own once it spawns another.
        """
        found = processes_with(f"{self.folder}/", environment=True)
        return [pid for pid in found if b"multiprocessing.resource_tracker" not in _command(pid)]


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process, also those that have ended."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has just ended
            found += map(int, (thread / "children").read_text().split())
    return found


def nurseries(pid: int) -> list[int]:
    """Return the nurseries of a job, as far as they were forked."""
    mine = _command(pid)
    return [child for child in children(pid) if alive(child) and _command(child) == mine]


def family(pid: int) -> list[int]:
    """Return a process and all that come from it."""
    return [pid, *(one for child in children(pid) for one in family(child))]


def forked_here() -> list[int]:
    """Return the processes that were forked from the test's own: nurseries of its loaders."""
    mine = Path("/proc/self/cmdline").read_bytes()
    return [pid for pid in children(os.getpid()) if _command(pid) == mine]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_with(text: str, environment: bool = False) -> list[int]:
    """Return the processes that have a text in their command, or in what they were started with."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
                if environment:
                    words += (folder / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if text in words and alive(int(folder.name)):
                found.append(int(folder.name))
    return found


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.down()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    return wait_until


@pytest.fixture(scope="module")
def shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A daemon for all tests of a file, which loaders in the test process find."""
    node = Node(tmp_path_factory.mktemp("node"))
    node.up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JOADER_RUNTIME", str(node.run))
        yield node
    node.down()
