"""Many reads at a time: in the order given, within a bound, in turn where they are fast."""

import threading
import time
from pathlib import Path

import pytest

from joader.errors import BadArgument
from joader.storage import InFlight


def test_results_come_in_the_order_given() -> None:
    reads = InFlight(4, at_once=True)
    assert reads.map(lambda n: n * n, list(range(50))) == [n * n for n in range(50)]
    assert reads.map(str, []) == []
    reads.close()
    assert reads.map(str, [1, 2, 3]) == ["1", "2", "3"]


def test_reads_begin_in_the_order_given_and_at_most_so_many() -> None:
    begun: list[int] = []
    gate = threading.Semaphore(0)

    def read(number: int) -> int:
        begun.append(number)
        gate.acquire()
        return number

    reads = InFlight(3, at_once=True)
    caller = threading.Thread(target=lambda: reads.map(read, list(range(9))))
    caller.start()
    deadline = time.monotonic() + 10
    while len(begun) < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sorted(begun) == [0, 1, 2]
    for _ in range(9):
        gate.release()
    caller.join(10)
    assert sorted(begun) == list(range(9))


def test_fast_reads_are_done_in_turn_by_the_caller_and_slow_ones_together() -> None:
    threads: list[str] = []

    def read(seconds: float) -> None:
        threads.append(threading.current_thread().name)
        time.sleep(seconds)

    reads = InFlight(8)
    me = threading.current_thread().name
    reads.map(read, [0.0] * 5 + [0.02] * 10)
    assert threads[0] == me
    assert threads.count(me) <= 7  # the second that was waited for was the last in turn
    assert len(set(threads)) > 2


def test_reads_that_take_long_without_waiting_are_done_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[str] = set()

    def read(number: int) -> None:
        threads.add(threading.current_thread().name)
        time.sleep(0.002)

    monkeypatch.setattr("joader.storage.in_flight._waits", lambda: 0)  # as if put off by others
    InFlight(8).map(read, list(range(8)))
    assert threads == {threading.current_thread().name}


def test_an_error_ends_what_has_not_begun() -> None:
    begun: list[int] = []

    def read(number: int) -> None:
        begun.append(number)
        time.sleep(0.02)
        if number == 1:
            raise OSError("row 1")

    with pytest.raises(OSError, match="row 1"):
        InFlight(2, at_once=True).map(read, list(range(500)))
    assert len(begun) < 100


@pytest.mark.parametrize("limit", [0, -1, True, 2.5])
def test_the_bound_is_a_positive_integer(limit: int) -> None:
    with pytest.raises(BadArgument, match="in_flight is"):
        InFlight(limit)


def test_it_is_an_option_of_files(tmp_path: Path) -> None:
    from joader.storage import open_storage

    (tmp_path / "a.jpg").write_bytes(b"a")
    with pytest.raises(BadArgument, match="in_flight is -3"):
        open_storage(tmp_path, in_flight=-3)
