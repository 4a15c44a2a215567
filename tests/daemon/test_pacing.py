"""The daemon's loop: at once after a pause, at a steady pace under load."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from joader.daemon import pacing
from joader.daemon.pacing import BURST, MOST, RATE, PacedSelector, paced_loop


class Clock:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def selector(clock: Clock) -> Iterator[PacedSelector]:
    """Return a selector that always has something to read."""
    read, write = os.pipe()
    os.write(write, b"x")
    made = PacedSelector(clock.read, clock.sleep)
    made.register(read, 1)
    yield made
    made.close()
    os.close(read)
    os.close(write)


def test_after_a_pause_nothing_waits(selector: PacedSelector, clock: Clock) -> None:
    for _ in range(int(BURST)):
        assert selector.select(None)
    assert clock.slept == []
    assert selector.select(None)
    assert clock.slept
    clock.now += 1.0
    clock.slept.clear()
    assert selector.select(None)
    assert clock.slept == []


def test_under_load_it_looks_at_a_steady_pace_and_no_message_waits_long(
    selector: PacedSelector, clock: Clock
) -> None:
    begun = clock.now
    for _ in range(2000):
        assert selector.select(None)
    assert 2000 / (clock.now - begun) == pytest.approx(RATE, rel=0.05)
    assert max(clock.slept) <= 1.001 / RATE


@pytest.mark.parametrize(("work_s", "looks_per_s"), [(0.0001, RATE), (0.0005, 333), (0.01, 250)])
def test_the_longer_a_round_takes_the_more_is_done_together(
    selector: PacedSelector, clock: Clock, work_s: float, looks_per_s: float
) -> None:
    for _ in range(int(BURST)):
        selector.select(None)
    begun = clock.now
    for _ in range(500):
        clock.now += work_s
        assert selector.select(None)
    assert 500 / (clock.now - begun) == pytest.approx(min(looks_per_s, 1 / work_s), rel=0.1)
    assert max(clock.slept, default=0.0) <= 1.001 * MOST / RATE


def test_a_timer_that_is_due_is_not_slept_over(selector: PacedSelector, clock: Clock) -> None:
    for _ in range(int(BURST)):
        selector.select(None)
    selector.select(0.1 / RATE)
    assert clock.slept == [pytest.approx(0.1 / RATE)]


def test_callbacks_go_before_sockets_but_not_for_ever(selector: PacedSelector) -> None:
    looks = [bool(selector.select(0)) for _ in range(8)]
    deep = pacing._DEEP
    assert looks == ([False] * deep + [True]) * (8 // (deep + 1))


def test_a_loop_runs_on_it() -> None:
    async def scene() -> str:
        await asyncio.sleep(0.001)
        return "done"

    with asyncio.Runner(loop_factory=paced_loop) as runner:
        assert runner.run(scene()) == "done"
