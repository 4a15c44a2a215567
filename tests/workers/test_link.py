"""A nursery as the daemon sees it: killed only when its job is gone, also if it was stopped."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from joader.messages import Bear, Ended, ToNursery, Unborn
from joader.wire import frame
from joader.workers.link import NurseryLink
from joader.workers.pool import GRACE_S
from tests.processes.jobs import wait_until
from tests.workers.floor import Floor, Wire, on_floor
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


async def left_by(floor: Floor, nursery: int, job: int) -> Wire:
    """Let a job of this process come with this nursery, and leave; return the nursery's wire."""
    floor.pool.join(1, "ticket", "code", 1, True)
    wire = Wire(ToNursery)
    floor.pool.attend("ticket", nursery).connection_made(wire)
    floor.pool.leave(1, job)
    await floor.later(GRACE_S + 0.5)
    return wire


@on_floor
async def test_a_nursery_that_was_stopped_is_killed_when_its_job_is_gone(
    floor: Floor, stopped: int, ended: int
) -> None:
    wire = await left_by(floor, stopped, ended)
    assert wire.closed
    wait_until_gone(stopped)


@on_floor
async def test_a_nursery_whose_job_lives_is_sent_away_and_not_killed(
    floor: Floor, stopped: int
) -> None:
    wire = await left_by(floor, stopped, os.getpid())
    assert wire.closed
    assert state_of(stopped) == "T"


class Crew:
    """Who a link speaks for; keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def attend(self, nursery: NurseryLink) -> None:
        self.told.append("here")

    def nursery_gone(self, nursery: NurseryLink) -> None:
        self.told.append("gone")

    def unborn(self, reason: str) -> None:
        self.told.append(reason)

    def ended_as(self, number: int, pid: int, code: int) -> None:
        self.told.append((number, pid, code))


@on_floor
async def test_what_a_nursery_says_is_passed_on_and_nonsense_ends_the_connection(
    floor: Floor,
) -> None:
    crew, wire = Crew(), Wire(ToNursery)
    link = NurseryLink(crew, 0)
    link.connection_made(wire)
    link.data_received(frame(Ended(1, 2, -9)) + frame(Unborn("no processes")))
    assert crew.told == ["here", (1, 2, -9), "no processes"]
    link.data_received(b"\xff\xff\xff\xff nonsense")
    assert wire.closed
    link.connection_lost(None)
    assert crew.told[-1] == "gone"


@on_floor
async def test_to_a_nursery_that_is_gone_nothing_is_said(floor: Floor) -> None:
    wire = Wire(ToNursery)
    link = NurseryLink(Crew(), 0)
    link.send(Bear(0))  # before it is here
    link.connection_made(wire)
    link.send(Bear(1))
    link.close()  # what was said before still goes out
    link.send(Bear(2))
    await floor.turn()
    assert wire.said == [Bear(1)]
    link.connection_lost(None)
    link.kill()


@on_floor
async def test_a_link_leaves_no_descriptor_behind(floor: Floor) -> None:
    before = len(os.listdir("/proc/self/fd"))
    link = NurseryLink(Crew(), os.getpid())
    link.connection_made(Wire(ToNursery))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    link.connection_lost(None)
    assert len(os.listdir("/proc/self/fd")) == before
