"""Any bytes at all into a stream: messages, or BadMessage, and never more kept than came."""

import contextlib

import hypothesis.strategies as st
from hypothesis import given, settings

from joader.errors import BadMessage
from joader.messages import FromChild, FromClient, FromNursery, FromWorker, Hello, ToChild
from joader.wire import Allowance, Stream, frame
from tests.fuzz.talk import births, encoded, messages, reports

KINDS = st.sampled_from([FromClient, FromWorker, FromNursery, FromChild, ToChild, Hello])
framed = st.binary(max_size=60).map(lambda body: len(body).to_bytes(4, "big") + body)
deep = st.integers(1, 5000).map(lambda n: encoded({"type": "AskWhy"})[4:-1] + b"\x91" * n)
pieces = st.one_of(
    st.binary(max_size=40), framed, messages.map(encoded), (reports | births).map(encoded), deep
)


@settings(max_examples=500, derandomize=True, database=None, deadline=None)
@given(KINDS, st.lists(pieces, max_size=8))
def test_bytes_become_messages_or_are_refused(kinds: object, data: list[bytes]) -> None:
    allowance = Allowance(4096)
    stream: Stream[object] = Stream(kinds, 1 << 20, allowance)
    with contextlib.suppress(BadMessage):
        for piece in data:
            for message in stream.feed(piece):
                again = list(Stream[object](kinds).feed(frame(message)))
                assert repr(again) == repr([message])
    assert allowance.taken_bytes <= sum(map(len, data))
    stream.close()
    assert allowance.taken_bytes == 0
