"""Reports on their way out: together, none held for long, each with the time it took."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from joader.messages import Failed, FromWorker, NotBegun, Prepared, Sized
from joader.wire import Channel
from joader.workers.outbox import Outbox


@pytest.fixture
def ends() -> Iterator[tuple[Outbox, Channel[Any]]]:
    ours, theirs = socket.socketpair()
    heard: Channel[Any] = Channel(ours, FromWorker)
    sent: Channel[Any] = Channel(theirs, FromWorker)
    yield Outbox(sent), heard
    heard.close()
    sent.close()


def prepared(sample: int, size: int = 64, layout: bytes = b"layout") -> Prepared:
    return Prepared((sample,), (size,), (layout,))


def test_samples_of_one_size_and_layout_say_so_once(ends: tuple[Outbox, Channel[Any]]) -> None:
    outbox, heard = ends
    for sample in (1, 2, 3):
        outbox.add(prepared(sample), own=False, seconds=0.25)
    assert outbox.flush()
    assert heard.receive(5) == Prepared((1, 2, 3), (64,), (b"layout",), 0.75)
    assert not outbox.flush()


def test_samples_that_differ_are_told_in_one_message_all_the_same(
    ends: tuple[Outbox, Channel[Any]],
) -> None:
    outbox, heard = ends
    outbox.add(prepared(1, 64, b"a"), own=False, seconds=0.0)
    outbox.add(prepared(2, 32, b"b"), own=False, seconds=0.0)
    outbox.flush()
    assert heard.receive(5) == Prepared((1, 2), (64, 32), (b"a", b"b"))


def test_rows_are_told_before_own_parts_and_each_with_its_time(
    ends: tuple[Outbox, Channel[Any]],
) -> None:
    outbox, heard = ends
    outbox.add(prepared(1), own=False, seconds=0.5)
    outbox.add(prepared(11), own=True, seconds=0.125)
    outbox.add(Failed(3, "no"), own=False, seconds=1.0)
    outbox.add(Sized((4,), (100,)), own=False, seconds=0.0)
    outbox.spent(0.25)
    outbox.add(prepared(2), own=False, seconds=0.25)
    outbox.add(Sized((5,), (200,)), own=False, seconds=0.0)
    outbox.flush()
    assert [heard.receive(5) for _ in range(4)] == [
        Prepared((1, 2), (64,), (b"layout",), 2.0),  # with what the failed one took
        Prepared((11,), (64,), (b"layout",), 0.125),
        Sized((4, 5), (100, 200)),
        Failed(3, "no"),
    ]


def test_what_was_begun_a_moment_ago_is_held_and_a_long_row_is_not(
    ends: tuple[Outbox, Channel[Any]],
) -> None:
    outbox, _ = ends
    outbox.add(prepared(1), own=False, seconds=0.001)
    assert not outbox.flush(after_s=60.0)
    assert outbox.flush()
    outbox.add(prepared(2), own=False, seconds=61.0)
    assert outbox.flush(after_s=60.0)


def test_what_is_given_back_is_told_after_what_is_done(
    ends: tuple[Outbox, Channel[Any]],
) -> None:
    outbox, heard = ends
    outbox.add(prepared(1), own=False, seconds=0.0)
    outbox.give_back((2, 3))
    assert isinstance(heard.receive(5), Prepared)
    assert heard.receive(5) == NotBegun((2, 3))


def test_the_time_of_own_parts_that_went_with_their_rows_is_told_once(
    ends: tuple[Outbox, Channel[Any]],
) -> None:
    outbox, heard = ends
    for seconds in (0.5, 0.0):
        if seconds:
            outbox.own_part(seconds)
        outbox.add(prepared(1), own=False, seconds=1.0)
        outbox.flush()
        assert heard.receive(5).own_s == seconds
