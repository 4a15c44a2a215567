"""One worker, in this process, at a real socket and arena: what it is told and what it reports.

What counts as the same row, and what cannot tell.

Memory of a worker's own, for rows between their two parts.
"""

import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from joader.errors import ConnectionLost
from joader.images import RandomHorizontalFlip, Steps
from joader.memory import Arena, Layout, pack, read
from joader.messages import (
    Compare,
    Drop,
    Failed,
    FromWorker,
    HandBack,
    NotBegun,
    Place,
    Prepared,
    Sized,
    Stop,
    ToWorker,
)
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.randomness import kept_random_numbers, key_of, start_random_numbers
from joader.recipe.watch import NO_SIGNS
from joader.storage import Storage
from joader.wire import Channel
from joader.workers import loop
from joader.workers.desk import Desk
from joader.workers.loop import Scratch, Worker, compared
from tests.orders import chunk, finish, prepare
from tests.processes.jobs import wait_until


class Counted:
    """Images of 8 x 8; every read is noted in a file."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __getitem__(self, row: int) -> Any:
        with self.log.open("a") as log:
            log.write(f"{row}\n")
        return np.full((8, 8, 3), row, np.uint8), row


FLIPS = OwnPart(Steps([RandomHorizontalFlip()]))
NOTHING = OwnPart(Steps(()))


class Bench:
    """A worker and the daemon's end of its socket."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "reads"
        self.arena = Arena(1 << 16)
        self.desk = Desk()
        ours, theirs = socket.socketpair()
        self.channel: Channel[Any] = Channel(ours, FromWorker)
        self.theirs: Channel[Any] = Channel(theirs, ToWorker)

    def worker(self, dataset: Any = None, own: OwnPart = NOTHING) -> Worker:
        shared = SharedPart(dataset or Counted(self.log), Steps(()))
        return Worker(self.theirs, self.arena, self.desk, shared, own)

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


def do(worker: Worker, *messages: Any) -> None:
    """Have a worker take messages in, and do what they say."""
    for message in messages:
        worker.listen_to(message)
    while not worker._chunks.empty():
        worker.work()


def test_a_sample_that_does_not_fit_its_slot_is_not_prepared_again(bench: Bench) -> None:
    worker = bench.worker()
    do(worker, prepare(1, 5, 0, 64))
    (size,) = bench.channel.receive(5).sizes
    do(worker, Place((1,), (128,), (size,)))
    placed = bench.channel.receive(5)
    assert isinstance(placed, Prepared)
    assert placed.sizes == (size,)
    assert bench.reads() == [5]
    assert (bench.arena.view[128 : 128 + 192] == 5).all()
    assert not bench.arena.view[:64].any()


def test_built_in_own_parts_are_reported_with_their_source(bench: Bench) -> None:
    worker = bench.worker(own=FLIPS)
    first = finish(2, 1, 1024, 512, job=1)
    second = finish(3, 1, 2048, 64, job=2)
    do(worker, prepare(1, 5, 0, 512), first, second)
    data = bench.channel.socket.recv(1 << 16)  # one write
    reports = list(bench.channel._stream.feed(data))
    assert [report.samples for report in reports] == [(1,), (2,), (3,)]
    assert [type(report) for report in reports] == [Prepared, Prepared, Sized]


def test_an_own_part_whose_source_has_failed_is_not_done(bench: Bench) -> None:
    class Broken(Counted):
        def __getitem__(self, row: int) -> Any:
            raise ValueError("no such row")

    worker = bench.worker(Broken(bench.log), FLIPS)
    do(worker, prepare(1, 5, 0, 512), finish(2, 1, 1024, 512, job=1))
    bench.theirs.close()
    assert isinstance(bench.channel.receive(5), Failed)
    with pytest.raises(ConnectionLost):
        bench.channel.receive(5)


def test_what_is_raised_is_told_with_its_class_whatever_it_is(bench: Bench) -> None:
    class Odd(BaseException):
        def __str__(self) -> str:
            raise RuntimeError("not even its text can be had")

    class Broken(Counted):
        def __getitem__(self, row: int) -> Any:
            if row == 0:
                raise Odd
            sys.exit(3) if row == 1 else {}["a"]

    worker = bench.worker(Broken(bench.log))
    do(worker, *(prepare(row, row, 0, 512) for row in range(3)))
    firsts = [" ".join(bench.channel.receive(5).reason.split()[:2]) for _ in range(3)]
    assert firsts[1:] == ["raised builtins:SystemExit", "raised builtins:KeyError"]
    assert firsts[0].endswith("Odd")


def test_a_worker_gets_ready_once_right_before_its_first_row(bench: Bench) -> None:
    begun: list[int] = []
    worker = bench.worker()
    worker._shared.worker_init_fn = begun.append
    worker.start_as(3, 8, NO_SIGNS)
    assert begun == []
    do(worker, prepare(1, 5, 0, 512), prepare(2, 6, 512, 512))
    assert begun == [3]
    assert worker._shared.worker["num_workers"] == 8


def test_a_worker_that_cannot_get_ready_says_so_for_each_row(bench: Bench) -> None:
    def refuses(number: int) -> None:
        raise OSError("no license server")

    worker = bench.worker()
    worker._shared.worker_init_fn = refuses
    worker.start_as(0, 1, NO_SIGNS)
    do(worker, prepare(1, 5, 0, 512), prepare(2, 6, 512, 512))
    for _ in range(2):
        report = bench.channel.receive(5)
        assert isinstance(report, Failed)
        assert "no license server" in report.reason
        assert "worker_init_fn" in report.reason


def test_user_code_starts_from_the_key_of_each_row(bench: Bench) -> None:
    class Chance(Counted):
        def __getitem__(self, row: int) -> Any:
            return np.random.random(4)  # noqa: NPY002 (as users write)

    worker = bench.worker(Chance(bench.log))
    do(worker, *(prepare(n, 0, 64 * n, 64, key) for n, key in enumerate((7, 7, 8))))
    for _ in range(3):
        bench.channel.receive(5)
    drawn = bench.arena.view.view(np.float64)
    assert drawn[:4].tolist() == drawn[8:12].tolist() != drawn[16:20].tolist()


class Slow(Counted):
    """Row 0 waits until a file is there."""

    def __getitem__(self, row: int) -> Any:
        while row == 0 and not self.log.with_name("go").exists():
            time.sleep(0.005)
        return super().__getitem__(row)


def listening_to(worker: Worker) -> threading.Thread:
    """Return a thread that listens for a worker until that is to end."""

    def listen() -> None:
        with suppress(SystemExit):
            worker._listen()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    return thread


@contextmanager
def served(bench: Bench, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a worker serve until the connection ends."""
    monkeypatch.setattr(loop, "end_group", sys.exit)  # the thread, not this process
    listening = listening_to(worker)
    enough = threading.Event()

    def work() -> None:
        while not enough.is_set():
            worker.work()

    working = threading.Thread(target=work, daemon=True)
    working.start()
    yield
    enough.set()
    bench.channel.send(prepare(99, 9, 0, 512))  # wakes it, and is its last
    working.join(10)
    bench.channel.close()
    listening.join(10)
    assert not working.is_alive()
    assert not listening.is_alive()


def test_a_dropped_sample_does_not_take_the_next_of_its_number_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may be given to an own part that is done before what was queued behind it."""
    with served(bench, bench.worker(Slow(bench.log), FLIPS), monkeypatch):
        bench.channel.send(prepare(9, 5, -1, 0))
        assert isinstance(bench.channel.receive(5), Sized)
        bench.channel.send(prepare(1, 0, 0, 512), Drop((9,)))
        bench.channel.send(finish(9, 1, -1, 0, job=1), prepare(2, 6, 1024, 512))
        bench.log.with_name("go").touch()
        reports = [bench.channel.receive(5) for _ in range(3)]
        assert [(type(report), report.samples) for report in reports] == [
            (Prepared, (1,)),
            (Sized, (9,)),
            (Prepared, (2,)),
        ]
        bench.channel.send(Place((9,), (2048,), (512,)))
        assert isinstance(bench.channel.receive(5), Prepared)


def test_a_worker_in_the_middle_of_a_row_ends_when_it_is_told_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = bench.worker(Slow(bench.log))
    ended: list[bool] = []

    def end() -> None:
        ended.append(True)
        sys.exit()

    monkeypatch.setattr(loop, "end_group", end)
    bench.channel.send(prepare(1, 0, 0, 512), Stop())
    listening_to(worker).join(10)
    assert ended


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
    worker = bench.worker(Stored(bench.log))
    do(worker, chunk(4, 5, 6))
    together = bench.channel.receive(5)
    assert isinstance(together, Prepared)
    assert together.samples == (4, 5, 6)
    do(worker, chunk(7, 3, 8))
    reports = [bench.channel.receive(5) for _ in range(2)]
    assert [type(report) for report in reports] == [Prepared, Failed]
    assert reports[0].samples == (7, 8)
    assert "the disk is bad here" in reports[1].reason
    assert bench.log.read_text().split() == ["4,5,6", "7,3,8", "7", "3", "8"]
    assert bench.arena.view.view(np.int64)[:72:8].tolist() == [0, 0, 0, 0, 40, 50, 60, 70, 80]


def test_rows_that_were_read_together_are_handed_back_if_they_are_not_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(bench, bench.worker(Stored(bench.log)), monkeypatch):
        bench.channel.send(chunk(1, 2), HandBack())
        back = bench.channel.receive(5)
        assert isinstance(back, NotBegun)
        assert sorted(back.samples) == [1, 2]
        bench.log.with_name("go").touch()
        bench.channel.send(prepare(8, 8, 0, 64))
        assert bench.channel.receive(5).samples == (8,)


def test_own_parts_go_back_with_the_row_they_wait_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(bench, bench.worker(Slow(bench.log), FLIPS), monkeypatch):
        bench.channel.send(prepare(1, 0, 0, 512), prepare(2, 6, 512, 512))
        bench.channel.send(finish(3, 2, 1024, 512, job=1))
        wait_until(lambda: bool(bench.desk.notes()))  # it works on the first
        bench.channel.send(HandBack())
        assert sorted(bench.channel.receive(5).samples) == [2, 3]
        bench.log.with_name("go").touch()
        assert bench.channel.receive(5).samples == (1,)


def test_rows_of_a_chunk_are_reported_together_and_say_how_long_they_took(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sleepy(Counted):
        def __getitem__(self, row: int) -> Any:
            time.sleep(0.02)
            return super().__getitem__(row)

    monkeypatch.setattr(loop, "REPORT_S", 60.0)
    do(bench.worker(Sleepy(bench.log)), chunk(1, 2, 3, slot_bytes=512))
    report = bench.channel.receive(5)
    assert report.samples == (1, 2, 3)
    assert report.seconds >= 0.06


def test_what_is_done_does_not_wait_for_a_slow_row_behind_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(bench, bench.worker(Slow(bench.log)), monkeypatch):
        bench.channel.send(chunk(5, 6, 0, 7, slot_bytes=512))
        assert bench.channel.receive(5).samples == (5, 6)
        bench.log.with_name("go").touch()
        assert bench.channel.receive(5).samples == (0,)  # at once: it took long
        assert bench.channel.receive(5).samples == (7,)


def test_who_is_asked_for_what_it_has_not_begun_tells_first_what_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HELD_S", 60.0)
    with served(bench, bench.worker(Slow(bench.log)), monkeypatch):
        bench.channel.send(chunk(5, 0, 6, 7, slot_bytes=512))
        wait_until(lambda: any(note.sample == 0 for note in bench.desk.notes()))
        bench.channel.send(HandBack())
        assert bench.channel.receive(5).samples == (5,)
        assert sorted(bench.channel.receive(5).samples) == [6, 7]
        bench.log.with_name("go").touch()
        assert bench.channel.receive(5).samples == (0,)


class Own:
    """A step of a user that draws numbers and edits in place what it gets."""

    def __call__(self, sample: Any) -> Any:
        image, row = sample
        image[:] += random.randrange(100)
        return image, row, random.random()


def own_parts(bench: Bench, whole: bool, own: OwnPart, times: int = 0) -> Any:
    """Return what a worker makes of row 5 for a job, with or without a slot for its source."""
    worker = bench.worker(own=own)
    if whole:
        order = replace(prepare(2, 5, 1024, 1024, key=7), whole=True, times=(times,))
        do(worker, order)
    else:
        do(worker, prepare(1, 5, 0, 1024, key=7), finish(2, 1, 1024, 1024))
        bench.channel.receive(5)
    (report,) = [bench.channel.receive(5)]
    assert report.samples == (2,)
    layout = Layout.from_bytes(report.layouts[0])
    made = read(layout, bench.arena.slot(1024, report.sizes[0]), allow_pickle=True)
    bench.arena.view[:] = 0
    return made, report


@pytest.mark.parametrize("own", [FLIPS, OwnPart(Steps([Own()]))], ids=["built in", "the user's"])
def test_a_row_that_goes_whole_gives_what_its_two_parts_would(bench: Bench, own: OwnPart) -> None:
    apart, _ = own_parts(bench, whole=False, own=own)
    for times in (0, 1 << 24):  # above that stands how often it was begun anew
        whole, report = own_parts(bench, whole=True, own=own, times=times)
        assert np.array_equal(whole[0], apart[0])
        assert whole[1:] == apart[1:]
        assert 0.0 < report.own_s < report.seconds


def test_of_a_row_that_goes_whole_only_the_own_part_has_a_slot(bench: Bench) -> None:
    worker = bench.worker(own=FLIPS)
    do(worker, replace(prepare(2, 5, 1024, 512), whole=True))
    assert isinstance(bench.channel.receive(5), Prepared)
    assert not bench.arena.view[:1024].any()
    assert bench.reads() == [5]


def test_a_row_that_goes_whole_and_does_not_fit_waits_while_others_are_done(bench: Bench) -> None:
    worker = bench.worker(own=FLIPS)
    do(worker, replace(prepare(2, 5, 1024, 64), whole=True))
    do(worker, replace(prepare(3, 6, 2048, 512), whole=True))
    sized, prepared = bench.channel.receive(5), bench.channel.receive(5)
    assert isinstance(sized, Sized)
    assert isinstance(prepared, Prepared)
    do(worker, Place((2,), (4096,), sized.sizes))
    assert isinstance(bench.channel.receive(5), Prepared)
    assert (bench.arena.view[4096 : 4096 + 192] == 5).all()
    assert (bench.arena.view[2048 : 2048 + 192] == 6).all()


class OneBuffer:
    """A dataset whose rows, and a step whose samples, are all in the same memory."""

    def __init__(self) -> None:
        self.image, self.text = np.zeros((8, 8, 3), np.uint8), bytearray(10)

    def __len__(self) -> int:
        return 100

    def __getitem__(self, row: int) -> Any:
        self.image[:], self.text[:] = row, bytes([row]) * 10
        return self.image, self.text

    def __call__(self, sample: Any) -> Any:
        return self[int(sample[0][0, 0, 0])]


def crop(sample: Any) -> Any:
    """Return views of what it gets, as a step may."""
    image, text = sample
    return image[1:, 1:], text


USERS = OwnPart(Steps([OneBuffer()]))


@pytest.mark.parametrize("own", [USERS, OwnPart(Steps([crop]))], ids=["one buffer", "views"])
@pytest.mark.parametrize("how", ["without a slot", "in a small slot", "whole", "own part"])
def test_what_waits_for_its_slot_is_not_what_its_memory_holds_by_then(
    bench: Bench, how: str, own: OwnPart
) -> None:
    worker = bench.worker(OneBuffer(), own)
    small = -1 if how == "without a slot" else 64
    orders = [replace(prepare(n, n, small, max(0, small)), whole=how == "whole") for n in (1, 2)]
    if how == "own part":
        parts = [finish(n, n + 10, -1, 0) for n in (1, 2)]
        sources = [prepare(n + 10, n, 1024 * n, 512) for n in (1, 2)]
        orders = [order for pair in zip(sources, parts, strict=True) for order in pair]
    do(worker, *orders)
    waiting = [bench.channel.receive(5) for _ in orders]
    bench.arena.view[:] = 77  # the slots are others' meanwhile
    for sized in waiting:
        if isinstance(sized, Prepared):
            continue
        do(worker, Place(sized.samples, (8192,), sized.sizes))
        report = bench.channel.receive(5)
        layout = Layout.from_bytes(report.layouts[0])
        image, text = read(layout, bench.arena.slot(8192, report.sizes[0]))
        (row,) = sized.samples
        assert set(image.ravel().tolist()) == set(text) == {row}


def test_what_an_own_part_raises_is_told_of_a_row_that_goes_whole(bench: Bench) -> None:
    def fails(sample: Any) -> Any:
        raise KeyError("mine")

    worker = bench.worker(own=OwnPart(Steps([fails])))
    do(worker, replace(prepare(2, 5, 1024, 512), whole=True))
    failed = bench.channel.receive(5)
    assert isinstance(failed, Failed)
    assert "builtins:KeyError" in failed.reason
    assert "transform" in failed.reason


KEY, POSITION = 77, 3


class Rows:
    """A dataset of one row."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __len__(self) -> int:
        return 1

    def __getitem__(self, row: int) -> Any:
        return self.make()


class Named:
    """An object without a layout, equal to others of its name, pickled each time otherwise."""

    def __init__(self, name: str) -> None:
        self.name, self.noise = name, random.SystemRandom().random()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    __hash__ = None  # type: ignore[assignment]


class Blind:
    """An object that no other is equal to, pickled each time otherwise."""

    def __init__(self) -> None:
        self.noise = "x" * random.SystemRandom().randrange(100) + str(
            random.SystemRandom().random()
        )


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena(1 << 16)
    with kept_random_numbers():
        yield made
    made.close()


def same(arena: Arena, theirs: Callable[[], Any], mine: Callable[[], Any], fresh: bool) -> bool:
    """Prepare a row as others do, then compare what is made of it here."""
    start_random_numbers(key_of(KEY, POSITION, 0))
    parcel = pack(theirs())
    parcel.write(arena.slot(0, parcel.layout.size_bytes))
    start_random_numbers(1)
    order = Compare(
        1,
        sample=5,
        recipe="rows",
        row=0,
        offset=0,
        layout=parcel.layout.to_bytes(),
        key=KEY,
        position=POSITION,
        fresh=fresh,
    )
    found = compared(order, SharedPart(Rows(mine), Steps(())), None, arena)
    assert (found.job, found.sample) == (1, 5)
    return found.same


def beside(value: Any, other: Any) -> Callable[[], Any]:
    return lambda: (np.full(40, value), other if not callable(other) else other())


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("other", [7, "text", {1, 2}, lambda: Named("a"), lambda: Named(None)])
def test_values_beside_an_object_are_compared(arena: Arena, other: Any, fresh: bool) -> None:
    assert same(arena, beside(0, other), beside(0, other), fresh)
    assert not same(arena, beside(0, other), beside(1, other), fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_objects_are_equal_if_they_say_so_and_else_different(arena: Arena, fresh: bool) -> None:
    sets = [lambda: {"a", "b"}, lambda: {"b", "a"}]
    assert same(arena, *sets, fresh)
    assert not same(arena, lambda: {"a"}, lambda: {"b"}, fresh)
    assert same(arena, lambda: Named("a"), lambda: Named("a"), fresh)
    assert not same(arena, lambda: Named("a"), lambda: Named("b"), fresh)
    assert not same(arena, Blind, Blind, fresh)
    assert not same(arena, lambda: [1, {2}], lambda: (1, {2}), fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_random_code_is_compared_with_the_random_numbers_of_the_sample(
    arena: Arena, fresh: bool
) -> None:
    def draws(plus: int) -> Any:
        return np.random.rand(5) + random.random() + plus  # noqa: NPY002 - as user code does

    assert same(arena, lambda: draws(0), lambda: draws(0), fresh)
    assert not same(arena, lambda: draws(0), lambda: draws(1), fresh)


def test_what_is_random_each_time_tells_nothing_but_all_else_does(arena: Arena) -> None:
    entropy = np.random.default_rng()

    def made(value: int) -> Any:
        return entropy.random(3), np.full(4, value)

    assert same(arena, lambda: made(0), lambda: made(0), fresh=True)
    assert not same(arena, lambda: made(0), lambda: made(1), fresh=True)
    # A job that says that it is deterministic is not.
    assert not same(arena, lambda: made(0), lambda: made(0), fresh=False)

    def cut() -> Any:
        return np.zeros(entropy.integers(1, 1 << 12))  # even its shape

    assert same(arena, cut, cut, fresh=True)


def test_a_dataset_that_fills_one_buffer_is_compared_as_it_was(arena: Arena) -> None:
    buffer, number = np.zeros(40), iter(range(1, 9))

    def next_one() -> Any:
        buffer[:] = next(number)
        return buffer

    # It gives another value each time, so nothing is known of it.
    assert same(arena, lambda: np.zeros(40), next_one, fresh=True)
    assert not same(arena, lambda: np.zeros(40), next_one, fresh=False)


def test_what_is_written_is_what_a_slot_would_hold_and_begins_as_a_slot_does() -> None:
    scratch = Scratch()
    assert scratch.room is None
    for size in (10, 1000, 3):  # it grows, and stays
        sample = (np.arange(size, dtype=np.float64), f"row of {size}")
        parcel = pack(sample)
        room = scratch.put(parcel)
        assert room.ctypes.data % 64 == 0
        numbers, text = read(parcel.layout, room)
        assert (numbers == sample[0]).all()
        assert text == sample[1]
    assert scratch.room is not None
    assert scratch.room.size >= 8000


def test_a_sample_that_was_made_there_already_stays_whole_while_it_grows() -> None:
    scratch = Scratch()
    scratch.put(pack(np.zeros(64, np.uint8)))
    image = np.ndarray((8, 8), np.uint8, scratch.room)
    image[:] = 7
    parcel = pack((image, np.ones(500, np.uint8)))
    pixels, ones = read(parcel.layout, scratch.put(parcel))
    assert (pixels == 7).all()
    assert ones.all()
