"""Messages as bytes: whole, in pieces, and wrong."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from joader.errors import BadMessage, ConnectionLost, NoDaemon, Refusal
from joader.messages import (
    PROTOCOL,
    Failed,
    FromWorker,
    Hello,
    NotBegun,
    Refuse,
    Release,
    Stop,
    ToWorker,
    Want,
    Welcome,
)
from joader.wire import Allowance, Channel, Stream, connected_to, frame, welcomed
from tests.orders import prepare

MESSAGES = [prepare(7, 3, 64, 128, 9), Stop(), prepare(2**40, 0, -1, 0, 2**62)]


@given(st.lists(st.integers(1, 40), max_size=30))
@settings(derandomize=True, deadline=None)
def test_messages_come_whole_however_the_bytes_are_cut(cuts: list[int]) -> None:
    data = b"".join(map(frame, MESSAGES))
    stream: Stream[object] = Stream(ToWorker)
    got: list[object] = []
    for cut in [*cuts, len(data)]:
        got += stream.feed(data[:cut])
        data = data[cut:]
    assert got == MESSAGES


def test_what_nobody_expects_is_refused() -> None:
    stream: Stream[object] = Stream(ToWorker)
    with pytest.raises(BadMessage, match="nobody expects"):
        list(stream.feed(frame(Want(0, 1))))
    with pytest.raises(BadMessage, match="at most"):
        list(Stream[object](ToWorker).feed(b"\xff" * 8))
    with pytest.raises(BadMessage):
        list(Stream[object](ToWorker).feed(b"\x00\x00\x00\x02\xc1\xc1"))


def test_a_channel_tells_when_the_other_side_is_gone_or_silent() -> None:
    ours, theirs = socket.socketpair()
    channel: Channel[object] = Channel(ours, ToWorker)
    with pytest.raises(TimeoutError):
        channel.receive(0.01)
    theirs.sendall(frame(Stop()))
    assert channel.receive(1) == Stop()
    theirs.close()
    with pytest.raises(ConnectionLost):
        channel.receive(1)
    with pytest.raises(ConnectionLost):
        channel.send(Stop(), Stop(), Stop())
    channel.close()


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
@settings(derandomize=True, deadline=None)
def test_arrays_travel_as_they_are(values: list[int]) -> None:
    (got,) = Stream[Release](Release).feed(frame(Release(1, np.array(values, np.int64))))
    assert got.samples.tolist() == values


def test_a_message_takes_memory_as_it_comes_not_as_it_announces_itself() -> None:
    allowance = Allowance(1000)
    streams = [Stream[object](ToWorker, 900, allowance) for _ in range(2)]
    announced = (800).to_bytes(4, "big")
    for stream in streams:
        assert list(stream.feed(announced)) == []
    assert allowance.taken_bytes == 8
    assert list(streams[0].feed(b"x" * 700)) == []
    with pytest.raises(BadMessage, match="of the daemon's own memory; at most 1000"):
        list(streams[1].feed(b"x" * 700))
    streams[0].close()
    assert list(streams[1].feed(b"x" * 700)) == []
    streams[1].close()
    assert allowance.taken_bytes == 0


def test_what_was_read_is_free_again() -> None:
    allowance = Allowance(1000)
    stream: Stream[object] = Stream(ToWorker, 900, allowance)
    for _ in range(100):
        assert list(stream.feed(b"".join(map(frame, MESSAGES)))) == MESSAGES
    assert allowance.taken_bytes == 0
    with pytest.raises(BadMessage):
        list(stream.feed(b"\x00\x00\x00\x02\xc1\xc1"))
    assert allowance.taken_bytes == 0


def test_what_is_no_array_is_refused() -> None:
    for nonsense in (b"123456789", [1, 2], None):
        body = msgspec.msgpack.encode({"type": "Release", "job": 1, "samples": nonsense})
        with pytest.raises(BadMessage, match="nobody expects"):
            list(Stream[Release](Release).feed(len(body).to_bytes(4, "big") + body))


def test_large_messages_and_what_follows_them_come_whole() -> None:
    small = NotBegun((1, 2))
    messages = [Failed(1, "x" * 200_000), small, Failed(2, "é" * 65_536), small]
    data = b"".join(map(frame, messages))
    for step in (1000, 70_000, len(data)):
        allowance = Allowance(1 << 20)
        stream: Stream[object] = Stream(FromWorker, 1 << 20, allowance)
        got: list[object] = []
        for start in range(0, len(data), step):
            got += stream.feed(data[start : start + step])
        assert got == messages
        assert allowance.taken_bytes == 0


def test_a_look_ahead_loses_nothing_and_tells_of_the_end() -> None:
    ours, theirs = socket.socketpair()
    channel: Channel[Any] = Channel(ours, Want)
    assert channel.look_ahead() == []
    sent = [Want(0, count) for count in range(1, 4)]
    theirs.sendall(b"".join(map(frame, sent)))
    assert channel.look_ahead() == sent
    assert channel.receive(1.0) == sent[0]
    theirs.close()
    with pytest.raises(ConnectionLost):
        channel.look_ahead()
    assert [channel.receive(1.0) for _ in range(2)] == sent[1:]
    with pytest.raises(ConnectionLost):
        channel.receive(1.0)
    channel.close()


def test_no_time_is_no_lost_connection() -> None:
    ours, theirs = socket.socketpair()
    channel: Channel[Any] = Channel(ours, Want)
    with pytest.raises(TimeoutError):
        channel.receive(0.0)
    channel.close()
    theirs.close()


@pytest.fixture
def ended() -> Iterator[int]:
    """A pidfd of a process that has ended."""
    process = subprocess.Popen(["true"])
    descriptor = os.pidfd_open(process.pid)
    process.wait()
    yield descriptor
    os.close(descriptor)


def test_who_waits_beside_a_process_hears_of_its_end_but_first_what_was_said(ended: int) -> None:
    ours, theirs = socket.socketpair()
    channel: Channel[Any] = Channel(ours, Want)
    theirs.sendall(frame(Want(0, 1)) + frame(Want(0, 2)))
    assert channel.receive(5.0, ended) == Want(0, 1)
    assert channel.receive(5.0, ended) == Want(0, 2)
    with pytest.raises(ConnectionLost, match="was to serve us has ended"):
        channel.receive(5.0, ended)
    channel.close()
    theirs.close()


def test_beside_a_process_that_lives_a_wait_ends_in_time() -> None:
    ours, theirs = socket.socketpair()
    me = os.pidfd_open(os.getpid())
    channel: Channel[Any] = Channel(ours, Want)
    with pytest.raises(TimeoutError):
        channel.receive(0.01, me)
    theirs.sendall(frame(Want(0, 1)))
    assert channel.receive(5.0, me) == Want(0, 1)
    channel.close()
    theirs.close()
    os.close(me)


HELLO = Hello(PROTOCOL, 7, "worker", "ticket", 3)


def test_a_welcome_brings_its_descriptors_and_leaves_what_follows_to_others() -> None:
    ours, theirs = socket.socketpair()
    sent = os.open(os.devnull, os.O_RDONLY)
    socket.send_fds(theirs, [frame(Welcome(PROTOCOL, "1", 5, 64))], [sent, sent])
    theirs.sendall(frame(Stop()))
    welcome, descriptors = welcomed(ours, HELLO, 2)
    assert welcome.arena_bytes == 64
    assert [os.readlink(f"/proc/self/fd/{one}") for one in descriptors] == [os.devnull] * 2
    assert Channel[Any](ours, ToWorker).receive(1) == Stop()
    assert Channel[Any](theirs, Hello).receive(1) == HELLO
    for one in (sent, *descriptors):
        os.close(one)
    ours.close()
    theirs.close()


def test_who_is_refused_is_told_why_and_what_is_no_welcome_is_none() -> None:
    for said, error in (
        (frame(Refuse("no room")), Refusal),
        (frame(Welcome(PROTOCOL, "1", 5, 64)), BadMessage),  # without what was to come along
        (frame(Stop()), BadMessage),
        (b"", ConnectionLost),
    ):
        ours, theirs = socket.socketpair()
        theirs.sendall(said)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(error):
            welcomed(ours, HELLO, 2)
        ours.close()
        theirs.close()


def test_where_nobody_listens_there_is_no_daemon(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="cannot reach a daemon at"):
        connected_to(tmp_path / "door", 1.0)
