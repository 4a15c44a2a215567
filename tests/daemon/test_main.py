"""The log stays short, and whoever writes to it goes on.

The daemon's loop: at once after a pause, at a steady pace under load.

What a daemon leaves when it ends.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from joader.daemon import main as pacing
from joader.daemon.main import (
    BURST,
    MOST,
    RATE,
    PacedSelector,
    keep_short,
    paced_loop,
    write_summary,
)
from joader.statistics import NodeStatistics, RunStatistics, TotalStatistics, run_from_json


def test_a_long_log_keeps_its_last_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as log, path.open("ab", buffering=0) as worker:
        log.write(b"".join(b"line %04d\n" % number for number in range(1000)))
        keep_short(log.fileno(), 20_000, 100)
        assert path.stat().st_size == 10_000
        keep_short(log.fileno(), 5_000, 100)
        worker.write(b"from a worker\n")
        log.write(b"and on\n")
    first, *lines = path.read_text().splitlines()
    assert first == "[joader: 9910 bytes of older lines were cut]"
    assert lines == [f"line {number:04d}" for number in range(991, 1000)] + [
        "from a worker",
        "and on",
    ]


def test_what_is_not_opened_for_appending_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb", buffering=0) as log:
        log.write(b"x" * 1000)
        keep_short(log.fileno(), 10, 5)
    assert path.stat().st_size == 1000
    ours, theirs = os.pipe()
    keep_short(theirs)
    os.close(ours)
    os.close(theirs)


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


def run(delivered: int) -> RunStatistics:
    return RunStatistics(node=NodeStatistics(totals=TotalStatistics(delivered=delivered)))


def test_its_figures_can_be_read_again_and_are_for_the_user_alone(tmp_path: Path) -> None:
    write_summary(run(5), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 5
    assert "<html" in (tmp_path / "summary.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.html", "summary.json"]
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_daemon_that_did_nothing_leaves_what_the_one_before_did(tmp_path: Path) -> None:
    write_summary(run(5), tmp_path)
    write_summary(run(0), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 5
    write_summary(run(7), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 7


def test_a_folder_that_cannot_be_written_to_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_summary(run(5), tmp_path / "none")
    assert "cannot write a summary" in caplog.text
