"""A daemon's door played by the test, for nurseries and workers that are real processes."""

import os
import socket
from pathlib import Path
from typing import Any

from joader.daemon.reception import welcome
from joader.memory import Arena
from joader.messages import (
    Attend,
    Bear,
    FromNursery,
    FromWorker,
    Hello,
    Refuse,
)
from joader.wire import Channel, frame
from joader.workers.desk import Desk
from tests.orders import prepare
from tests.processes.jobs import Job, wait_until

WAIT_S = 20.0
SLOT_BYTES = 512
# A job that has a nursery, and that says and does what else a test wants.
SCRIPT = """
from joader.client.reading.births import Nursery, context_of
from joader.images import Steps
from joader.recipe.parts import OwnPart, SharedPart

class Rows:
    def __len__(self):
        return 100

    def __getitem__(self, row):
        return np.full(8, row)

def born(dataset=None, method="fork", **more):
    shared = SharedPart(dataset or Rows(), Steps(()), more.pop("worker_init_fn", None))
    return Nursery(context_of(method), shared, OwnPart(Steps(())), 2, **more)

def wait():
    sys.stdin.readline()
"""
USUAL = """
nursery = born()
say(nursery._process.pid)
nursery.attend(sys.argv[1], 1)
wait()
"""


class Guest:
    """A process that came to the door."""

    def __init__(self, hello: Hello, channel: Channel[Any], desk: Desk | None = None) -> None:
        self.hello, self.channel, self.desk = hello, channel, desk
        self.pid = hello.pid

    def say(self, *messages: Any) -> None:
        self.channel.send(*messages)

    def hears(self, timeout_s: float = WAIT_S) -> Any:
        return self.channel.receive(timeout_s)

    def close(self) -> None:
        self.channel.close()
        if self.desk is not None:
            self.desk.close()


class House:
    """A listener that lets in whoever comes, and an arena."""

    def __init__(self, folder: Path, name: str = "door") -> None:
        self.folder = folder
        self.path = folder / name
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.fspath(self.path))
        self.listener.listen()
        self.listener.settimeout(WAIT_S)
        self.arena = Arena(1 << 16)
        self.guests: list[Guest] = []
        self.jobs: list[Job] = []

    def job(self, script: str = USUAL, *arguments: str) -> Job:
        """Start a job; its first argument is where the door is."""
        made = Job(self.folder, SCRIPT + script, str(self.path), *arguments)
        self.jobs.append(made)
        return made

    def attend(self) -> Attend:
        return Attend(str(self.path), "ticket")

    def guest(self) -> Guest:
        """Let the next in."""
        sock, _ = self.listener.accept()
        first: Channel[Any] = Channel(sock, Hello)
        hello = first.receive(WAIT_S)
        if hello.role == "nursery":
            welcome(sock, self.arena, [])
            guest = Guest(hello, Channel(sock, FromNursery))
        else:
            desk = Desk()
            descriptors = [self.arena.writable_descriptor(), os.dup(desk.descriptor)]
            welcome(sock, self.arena, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            guest = Guest(hello, Channel(sock, FromWorker), desk)
        self.guests.append(guest)
        return guest

    def turn_away(self, reason: str) -> None:
        """Refuse the next."""
        sock, _ = self.listener.accept()
        Channel(sock, Hello).receive(WAIT_S)
        sock.sendall(frame(Refuse(reason)))
        sock.close()

    def bear(self, nursery: Guest, number: int = 0) -> Guest:
        """Have a worker born, and let it in."""
        nursery.say(Bear(number))
        worker = self.guest()
        assert (worker.hello.role, worker.hello.number) == ("worker", number)
        return worker

    def cook(self, worker: Guest, row: int, sample: int = 0) -> Any:
        """Have a row prepared; return what the worker reports."""
        worker.say(prepare(sample, row, sample * SLOT_BYTES, SLOT_BYTES))
        return worker.hears()

    def close(self) -> None:
        for job in self.jobs:
            job.kill()
            job.process.communicate()
        for guest in self.guests:
            guest.close()
        self.listener.close()
        self.arena.close()


def state_of(pid: int) -> str:
    """Return a process's state as the kernel names it; Z where there is none any more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "Z"
    return text.rpartition(")")[2].split()[0]


def wait_until_gone(*pids: int) -> None:
    wait_until(lambda: all(state_of(pid) == "Z" for pid in pids))
