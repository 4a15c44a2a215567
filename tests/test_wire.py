"""Messages as bytes: whole, in pieces, and wrong."""

import socket

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.errors import BadMessage, ConnectionLost
from joader.messages import Cook, NextBatch, Stop, ToWorker, packed, unpacked
from joader.wire import Channel, Stream, frame

MESSAGES = [Cook(7, "photos", 3, 64, 128, 9), Stop(), Cook(2**40, "é", 0, -1, 0, 2**62)]


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
        list(stream.feed(frame(NextBatch(1))))
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
    assert unpacked(packed(values)).tolist() == values
