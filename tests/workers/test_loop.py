"""One worker, in this process, at a real socket and arena: what it is told and what it reports."""

import pickle
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.images import RandomHorizontalFlip, Steps
from joader.memory import Arena
from joader.messages import (
    Cook,
    Cooked,
    CookedEach,
    Finish,
    FromWorker,
    HandBack,
    NotBegun,
    OwnBody,
    PutAt,
    RecipeBody,
    Spoiled,
    TooBig,
    ToWorker,
)
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.randomness import kept_random_numbers
from joader.storage import Storage
from joader.wire import Channel
from joader.workers import loop
from joader.workers.desk import Desk
from joader.workers.loop import Worker


class Counted:
    """Images of 8 x 8; every read is noted in a file."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __getitem__(self, row: int) -> Any:
        with self.log.open("a") as log:
            log.write(f"{row}\n")
        return np.full((8, 8, 3), row, np.uint8), row


class Bench:
    """The worker and the daemon's end of its socket."""

    def __init__(self, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        self.log = folder / "reads"
        self.arena = Arena(1 << 16)
        self.channel: Channel[Any] = Channel(ours, FromWorker)
        self.theirs: Channel[Any] = Channel(theirs, ToWorker)
        self.desk = Desk()
        self.worker = Worker(self.theirs, self.arena, self.desk, 0, 1)
        self.learn(RecipeBody("r", pickle.dumps(SharedPart(Counted(self.log), Steps(())))))

    def learn(self, message: RecipeBody | OwnBody) -> None:
        name = message.recipe if isinstance(message, RecipeBody) else message.job
        self.worker._learn(name, message.body)

    def reads(self) -> list[int]:
        return [int(line) for line in self.log.read_text().split()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    with kept_random_numbers():  # this process is no worker
        yield made
    made.channel.close()
    made.theirs.close()
    made.desk.close()
    made.arena.close()


def test_a_sample_that_does_not_fit_its_slot_is_not_prepared_again(bench: Bench) -> None:
    bench.worker.answer(Cook(1, "r", 5, 0, 64, 0))
    size = bench.channel.receive(5).size_bytes
    bench.worker.answer(PutAt(1, 128, size))
    placed = bench.channel.receive(5)
    assert isinstance(placed, Cooked)
    assert placed.size_bytes == size
    assert bench.reads() == [5]
    assert (bench.arena.view[128 : 128 + 192] == 5).all()
    assert not bench.arena.view[:64].any()


def test_built_in_own_parts_are_reported_with_their_source(bench: Bench) -> None:
    own = pickle.dumps(OwnPart(Steps([RandomHorizontalFlip()])))
    bench.desk.begin(0, b"loading")
    for job in (1, 2):
        bench.learn(OwnBody(job, own))
        bench.worker._load(job)
    bench.worker._followers[1] = [Finish(2, 1, 1, -1, b"", 1024, 512, 7)]
    bench.worker._followers[1] += [Finish(3, 2, 1, -1, b"", 2048, 64, 7)]
    bench.worker.answer(Cook(1, "r", 5, 0, 512, 0))
    data = bench.channel.socket.recv(1 << 16)  # one write
    reports = list(bench.channel._stream.feed(data))
    assert [report.sample for report in reports] == [1, 2, 3]
    assert [type(report) for report in reports] == [Cooked, Cooked, TooBig]


class Slow(Counted):
    """Row 0 waits until a file is there."""

    def __getitem__(self, row: int) -> Any:
        while row == 0 and not self.log.with_name("go").exists():
            time.sleep(0.005)
        return super().__getitem__(row)


def served(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> threading.Thread:
    monkeypatch.setattr(loop, "_end", sys.exit)  # the thread, not this process

    def serve() -> None:
        with suppress(SystemExit):
            bench.worker.serve(1)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    return serving


def test_a_dropped_sample_does_not_take_the_next_of_its_number_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may be given to an own part that is done before what was queued behind it."""
    serving = served(bench, monkeypatch)
    shared = pickle.dumps(SharedPart(Slow(bench.log), Steps(())))
    own = pickle.dumps(OwnPart(Steps([RandomHorizontalFlip()])))
    bench.channel.send(RecipeBody("slow", shared), OwnBody(1, own), Cook(9, "r", 5, -1, 0, 0))
    assert isinstance(bench.channel.receive(5), TooBig)
    bench.channel.send(Cook(1, "slow", 0, 0, 512, 0), PutAt(9, -1, 0))
    bench.channel.send(Finish(9, 1, 1, -1, b"", -1, 0, 7), Cook(2, "r", 6, 1024, 512, 0))
    bench.log.with_name("go").touch()
    reports = [bench.channel.receive(5) for _ in range(3)]
    assert [(type(report), report.sample) for report in reports] == [
        (Cooked, 1),
        (TooBig, 9),
        (Cooked, 2),
    ]
    bench.channel.send(PutAt(9, 2048, 512))
    placed = bench.channel.receive(5)
    bench.channel.close()
    serving.join(5)
    assert isinstance(placed, Cooked)


class Stored(Storage):
    """Numbers, of which row 3 cannot be read; every read waits for a file and is noted in one."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.columns, self.length = {"number": "int64"}, 10
        self.choose(None, ["number"])

    def fetch(self, rows: Any, columns: Any) -> list[Any]:
        while rows[0] == 1 and not self.log.with_name("go").exists():
            time.sleep(0.005)
        with self.log.open("a") as log:
            log.write(f"{','.join(map(str, rows))}\n")
        if 3 in rows:
            raise OSError("the disk is bad here")
        return [rows * 10]

    def identity(self) -> tuple[Any, ...]:
        return ()


def test_stored_rows_that_come_together_are_read_and_reported_together(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "REPORT_S", 60.0)
    serving = served(bench, monkeypatch)
    bench.channel.send(RecipeBody("s", pickle.dumps(SharedPart(Stored(bench.log), Steps(())))))
    bench.channel.send(Cook(0, "s", 0, 0, 64, 0))  # from now on it is known to be stored rows
    assert isinstance(bench.channel.receive(5), Cooked)
    bench.channel.send(*(Cook(row, "s", row, 64 * row, 64, 0) for row in (4, 5, 6)))
    together = bench.channel.receive(5)
    assert isinstance(together, CookedEach)
    assert together.samples == (4, 5, 6)
    bench.channel.send(*(Cook(row, "s", row, 64 * row, 64, 0) for row in (7, 3, 8)))
    reports = [bench.channel.receive(5) for _ in range(3)]
    assert [type(report) for report in reports] == [Cooked, Spoiled, Cooked]
    assert "the disk is bad here" in reports[1].reason
    bench.channel.close()
    serving.join(5)
    assert bench.log.read_text().split() == ["0", "4,5,6", "7,3,8", "7", "3", "8"]
    assert bench.arena.view.view(np.int64)[:72:8].tolist() == [0, 0, 0, 0, 40, 50, 60, 70, 80]


def test_rows_that_were_read_together_are_handed_back_if_they_are_not_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = served(bench, monkeypatch)
    bench.channel.send(RecipeBody("s", pickle.dumps(SharedPart(Stored(bench.log), Steps(())))))
    bench.channel.send(Cook(0, "s", 0, 0, 64, 0))
    assert isinstance(bench.channel.receive(5), Cooked)
    bench.channel.send(*(Cook(row, "s", row, 64 * row, 64, 0) for row in (1, 2)), HandBack())
    back = bench.channel.receive(5)
    assert isinstance(back, NotBegun)
    assert sorted(back.samples) == [1, 2]
    bench.log.with_name("go").touch()
    bench.channel.send(Cook(9, "s", 9, 0, 64, 0))
    assert bench.channel.receive(5).sample == 9
    bench.channel.close()
    serving.join(5)
