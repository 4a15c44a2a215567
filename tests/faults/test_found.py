"""What the crash matrix has found, each as small as it can be made."""

import asyncio
import math
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from joader.client.reading import births
from joader.config import DaemonConfig
from joader.daemon.daemon import Daemon
from joader.errors import ConnectionLost
from joader.images import Steps
from joader.memory import Arena
from joader.messages import (
    PROTOCOL,
    Bear,
    HandBack,
    Hello,
    Instruction,
    JobSettings,
    Prepared,
    Refuse,
    ToWorker,
    Welcome,
)
from joader.recipe.parts import OwnPart, SharedPart
from joader.schedule.work.actions import Lent
from joader.wire import Channel, frame
from joader.workers import loop, nursery
from joader.workers.desk import Desk
from joader.workers.pool import Pool

SHARED, OWN = SharedPart([1, 2, 3], Steps([])), OwnPart(Steps([]))
PATIENCE_S = 30.0


class Ended(Exception):
    """The process would have ended."""


class Connected:
    """A connection that no child may keep."""

    def descriptors(self) -> list[int]:
        return []


def test_a_child_of_a_job_does_not_keep_the_memory_of_a_daemon() -> None:
    with Arena(1 << 16) as arena:
        descriptor = arena.read_only_descriptor()
        attached = Arena.attach(descriptor, arena.size_bytes, forks=False)
        os.close(descriptor)
        connected = Connected()
        births.descriptors_to_close.add(connected)
        child = os.fork()
        if child == 0:
            names = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
            held = [name for name in names if os.path.islink(name)]
            os._exit(any("joader-arena" in os.readlink(name) for name in held))
        assert os.waitpid(child, 0)[1] == 0
        attached.close()


def test_a_worker_ends_when_its_daemon_goes_while_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end() -> None:
        raise Ended

    monkeypatch.setattr(loop, "end_group", end)
    ours, theirs = socket.socketpair()
    with Arena(1 << 16) as arena:
        desk = Desk()
        worker = loop.Worker(Channel(ours, ToWorker), arena, desk, SHARED, OWN)
        theirs.sendall(frame(HandBack()))
        theirs.close()
        with pytest.raises(Ended):
            worker._listen()
        desk.close()
    ours.close()


def test_a_message_that_comes_while_another_is_taken_is_not_lost() -> None:
    class Racing:
        """A channel on which a message comes whenever somebody looks."""

        def __init__(self) -> None:
            self.ready: list[Any] = []
            self.sent = 0

        def look_ahead(self) -> list[Any]:
            self.ready.append(Bear(self.sent))
            self.sent += 1
            return self.ready

    channel: Any = Racing()
    assert nursery._all_of(channel) == [Bear(0)]
    assert nursery._all_of(channel) == [Bear(1)]


def test_who_dies_before_its_welcome_leaves_no_descriptor_with_the_daemon() -> None:
    async def main() -> None:
        pool = a_pool()
        pool.join(1, 0, Lent("ticket", "code", JobSettings("job", timeout_s=math.inf), 1))
        desk = Desk()
        before = os.listdir("/proc/self/fd")
        pool.arrive("ticket", 0, os.getpid(), desk)
        pool.attend("ticket", os.getpid())
        assert os.listdir("/proc/self/fd") == before
        desk.close()
        await pool.close()

    asyncio.run(main())


def nothing(*_: Any) -> None:
    """Take note of nothing."""


def a_pool() -> Pool:
    return Pool(2, nothing)


def test_a_job_that_is_refused_leaves_with_its_crew() -> None:
    class Refusing:
        """An engine that has just refused a job."""

        used_bytes, refuses = 0, False

        def say(self) -> list[Instruction]:
            return [Refuse("no room", 1)]

    class OfJob:
        """A session."""

        pid, said, name = 0, "", "train.py"

        def refuse(self, reason: str) -> None:
            self.said = reason

    async def main() -> None:
        daemon = Daemon(DaemonConfig(memory_bytes=1 << 20, workers=1))
        session: Any = OfJob()
        daemon.pool.join(1, 0, Lent("ticket", "code", JobSettings("job", timeout_s=math.inf), 1))
        daemon.sessions[1], daemon.engine = session, Refusing()  # type: ignore[assignment]
        daemon._carry_out()
        assert session.said == "no room"
        assert not daemon.pool.dispatch.staff.crew_of
        daemon.stop.set()
        await daemon.pool.close()
        daemon.arena.close()

    asyncio.run(main())


def test_a_daemon_that_cannot_make_sense_of_a_report_ends_before_it_mixes_samples_up() -> None:
    async def main() -> None:
        daemon = Daemon(DaemonConfig(memory_bytes=1 << 20, workers=1))
        daemon._from_pool(Prepared((5,), (10,), (b"layout",)))  # nobody has asked for it
        assert daemon.stop.is_set()
        await daemon.pool.close()
        daemon.arena.close()

    asyncio.run(main())


def test_a_daemon_that_ends_does_not_wait_for_workers_that_cannot_come_any_more() -> None:
    class Waiting:
        """A session that was promised a batch."""

        job, owed, ended, elsewhere = 1, 1, False, False

        def end(self) -> None:
            self.ended = True

    async def main() -> None:
        daemon = Daemon(DaemonConfig(memory_bytes=1 << 20, workers=1))
        session: Any = Waiting()
        daemon.pool.join(1, 0, Lent("ticket", "code", JobSettings("job", timeout_s=math.inf), 1))
        daemon.draining.end_if_done(session)
        assert not session.ended
        daemon.draining.begun = True
        daemon.draining.end_if_done(session)
        assert session.ended
        daemon.stop.set()
        await daemon.pool.close()
        daemon.arena.close()

    asyncio.run(main())


# A nursery, and what it takes for a daemon.


@pytest.fixture
def born() -> Iterator[births.Nursery]:
    child = births.Nursery(multiprocessing.get_context("fork"), SHARED, OWN, 1)
    yield child
    child.end()
    deadline = time.monotonic() + PATIENCE_S
    while births._ending and time.monotonic() < deadline:
        time.sleep(0.01)
        births._reap()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "door"))
        listener.listen()
        listener.settimeout(PATIENCE_S)
        yield listener


def let_in(door: socket.socket) -> socket.socket:
    """Greet a nursery, and return the link to it."""
    link, _ = door.accept()
    link.settimeout(PATIENCE_S)
    hello: Any = Channel(link, Hello).receive(PATIENCE_S)
    assert hello.role == "nursery"
    link.sendall(frame(Welcome(PROTOCOL, "0", os.getpid(), 1)))
    return link


def test_a_nursery_that_a_daemon_let_go_serves_it_again(
    born: births.Nursery, door: socket.socket
) -> None:
    for _ in range(2):
        born.attend(door.getsockname(), os.getpid())
        let_in(door).close()


def test_a_nursery_that_serves_a_daemon_is_not_disturbed(
    born: births.Nursery, door: socket.socket
) -> None:
    born.attend(door.getsockname(), os.getpid())
    with let_in(door) as link:
        born.attend(door.getsockname(), os.getpid())
        born.attend(door.getsockname(), os.getpid())
        link.settimeout(0.5)
        with pytest.raises(TimeoutError):
            link.recv(1)


def test_a_nursery_that_was_turned_away_asks_again(
    born: births.Nursery, door: socket.socket
) -> None:
    born.attend(door.getsockname(), os.getpid())
    turned_away, _ = door.accept()
    turned_away.sendall(frame(Refuse("not now")))
    turned_away.close()
    let_in(door).close()


def test_a_nursery_that_was_killed_is_missed_later(
    born: births.Nursery, door: socket.socket
) -> None:
    os.kill(born._process.pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_S
    while born.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    born.attend(door.getsockname(), os.getpid())
    assert not born.alive
    with suppress(ConnectionLost):
        born._control.receive(1.0, watched=born.pidfd)  # it may have said that it is born
    with pytest.raises(ConnectionLost):
        born._control.receive(1.0, watched=born.pidfd)
