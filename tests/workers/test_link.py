"""A nursery as the daemon sees it: killed only when its job is gone, also if it was stopped."""

import asyncio
import math
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from joader.messages import Bear, Ended, JobSettings, Stop, ToNursery, Unborn
from joader.schedule.dispatch import GRACE_S
from joader.schedule.work.actions import Lent
from joader.wire import Stream, frame
from joader.workers.link import NurseryLink
from joader.workers.pool import Pool
from tests.processes.jobs import wait_until
from tests.workers.house import state_of, wait_until_gone


@pytest.fixture
def stopped() -> Iterator[int]:
    """A process that is stopped, and that nobody waits for."""
    process = subprocess.Popen(["sleep", "600"])
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(process.pid) == "T")
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def ended() -> int:
    """A process that has been."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


class Wire(asyncio.Transport):
    """The daemon's end of a connection: keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Any] = []
        self.closed = False
        self._stream: Stream[Any] = Stream(ToNursery)

    def write(self, data: Any) -> None:
        self.said += self._stream.feed(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


async def left_by(nursery: int, job: int) -> Wire:
    """Let a job's process come with this nursery, and leave; return the nursery's wire."""
    pool = Pool(2, lambda event: None)
    pool.join(1, job, Lent("ticket", "code", JobSettings("job", timeout_s=math.inf), 1))
    wire = Wire()
    pool.attend("ticket", nursery).connection_made(wire)
    pool.leave(1)
    deadline = time.monotonic() + GRACE_S + 5.0
    while not wire.closed and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    await pool.close()
    return wire


def test_a_nursery_that_was_stopped_is_killed_when_its_job_is_gone(
    stopped: int, ended: int
) -> None:
    assert asyncio.run(left_by(stopped, ended)).closed
    wait_until_gone(stopped)


def test_a_nursery_whose_job_lives_is_sent_away_and_not_killed(stopped: int) -> None:
    assert asyncio.run(left_by(stopped, os.getpid())).closed
    assert state_of(stopped) == "T"


class Keeper:
    """Who a link speaks for; keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def attended(self, link: NurseryLink) -> None:
        self.told.append("here")

    def nursery_gone(self, link: NurseryLink) -> None:
        self.told.append("gone")

    def unborn(self, ticket: str, reason: str) -> None:
        self.told.append(reason)

    def ended_as(self, ticket: str, number: int, pid: int, code: int) -> None:
        self.told.append((number, pid, code))


def test_what_a_nursery_says_is_passed_on_and_nonsense_ends_the_connection() -> None:
    crew, wire = Keeper(), Wire()
    link = NurseryLink(crew, "ticket", 0)
    link.connection_made(wire)
    link.data_received(frame(Ended(1, 2, -9)) + frame(Unborn("no processes")))
    assert crew.told == ["here", (1, 2, -9), "no processes"]
    link.data_received(b"\xff\xff\xff\xff nonsense")
    assert wire.closed
    link.connection_lost(None)
    assert crew.told[-1] == "gone"


def test_to_a_nursery_that_is_gone_nothing_is_said() -> None:
    asyncio.run(nothing_is_said())


async def nothing_is_said() -> None:
    wire = Wire()
    link = NurseryLink(Keeper(), "ticket", 0)
    link.send(Bear(0))  # before it is here
    link.connection_made(wire)
    link.send(Bear(1))
    link.close()  # what was said before still goes out
    link.send(Bear(2))
    await asyncio.sleep(0)
    assert wire.said == [Bear(1)]
    link.connection_lost(None)
    link.kill()


def test_a_link_leaves_no_descriptor_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    link = NurseryLink(Keeper(), "ticket", os.getpid())
    link.connection_made(Wire())
    assert len(os.listdir("/proc/self/fd")) == before + 1
    link.connection_lost(None)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_nursery_that_says_it_ends_bears_nobody_any_more_and_is_still_there(ended: int) -> None:
    async def crew_has_its_nursery() -> list[bool]:
        pool = Pool(2, lambda event: None)
        pool.join(1, os.getpid(), Lent("ticket", "code", JobSettings("job", timeout_s=math.inf), 1))
        link = pool.attend("ticket", ended)
        link.connection_made(Wire())
        crew = pool.dispatch.staff.crew("ticket")
        found = [crew.nursery]
        link.data_received(frame(Stop()))
        found.append(crew.nursery)
        link.connection_lost(None)  # said once more by its end: nothing changes
        found.append(crew.nursery)
        await pool.close()
        return found

    assert asyncio.run(crew_has_its_nursery()) == [True, False, False]
