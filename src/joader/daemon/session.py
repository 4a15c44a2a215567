"""One client as the daemon sees it: a connection, a process that is watched, at most one job.

A session ends when its socket closes or its process dies (pidfd), whichever is first: a forked
child of a job may keep the socket open long after the job is gone.

What a client may cost the daemon is bounded. A few of its messages are read per turn, and none
while it does not read its answers; after the end nothing it said is looked at. What it sends counts
against the allowance of all clients until it has been dealt with; what is kept, until the end.
"""

import asyncio
import errno
import json
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from joader.errors import BadMessage
from joader.messages import Deliver, Event, FromClient, Refuse, Register, Want
from joader.messages.fields import NONE
from joader.schedule.diagnosis import TimeUse
from joader.wire import MOST_BYTES, Allowance, Mail, Stream

# Messages of one client in one turn of the loop.
_TURN = 64
# Batches that a client may have asked for and not got; ours ask for four at most.
MOST_OWED = 256
# How long a client that is to be gone may take to read why.
_LINGER_S = 5.0
# A client that says it has waited longer is not believed.
_MOST_WAIT_S = 1e10
# Of a dataset's name.
_MOST_LETTERS = 200


class Relayed(Protocol):
    """What stands between a rank and the engine: see rank_relay.py."""

    def end(self, *, alone: bool) -> None:
        """Take note that the session has ended; not `alone`: the daemon ends."""

    def asks_why(self) -> bool:
        """Find out which ranks it waits for, if it does; the client is told."""


class Session(asyncio.Protocol):
    """A client's connection after the handshake."""

    def __init__(
        self,
        pid: int,
        on_message: Callable[["Session", Any], None],
        on_end: Callable[["Session"], None],
        allowance: Allowance,
        watches: bool = False,
    ) -> None:
        """Hand messages and the end of the session to these; `watches`: it only asks."""
        self.pid, self.watches = pid, watches
        self.job: int | None = None
        self.name = self.recipe = self.table = self.team = ""
        self.label = ""  # what it is called on every screen
        self.began = 0.0  # when it registered, in seconds since 1970
        self.common = ""  # the recipe that it shares pieces in, if any
        self.about, self.fresh = b"", True
        self.order = ""
        self.seed: int | None = None
        self.rank, self.world_size = 0, 1
        self.epoch = 0
        self.number = 0  # of its pass
        self.owed = 0  # batches it asked for and has not got
        self.delivered = 0
        self.rows = 0  # of a pass
        self.wait_s = 0.0  # that it has waited for batches, as it says
        self.time = TimeUse()
        self.dataset = ""  # as it calls it
        self.elsewhere = False  # it is another node, not a client
        self.remote = False  # a rank at the node that plans for it
        self.everywhere = ""  # its recipe on any machine, if its workers can prepare for others
        self.register: Register | None = None
        self.known_layouts: set[int] = set()
        self.relay: Relayed | None = None  # of a rank whose team may be planned elsewhere
        self.repeated: deque[int] = deque()  # what fills up the steps that are on their way to it
        self.tell: Callable[[Event], None] = lambda event: None  # what it says, for the engine
        self._on_message = on_message
        self._on_end = on_end
        self._allowance = allowance
        self._kept_bytes = 0
        self._stream: Stream[FromClient] = Stream(
            FromClient, min(MOST_BYTES, allowance.most_bytes), allowance
        )
        self._transport: asyncio.Transport | None = None
        self._mail = Mail()
        self._pidfd = -1
        self._full = False  # it does not read its answers
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to watch the client's process."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.refuse(f"the daemon has no file descriptors left to watch you: {error}")
            return  # else it is gone, or in another pid namespace: the end of its socket will tell
        asyncio.get_running_loop().add_reader(self._pidfd, self.end)

    def data_received(self, data: bytes) -> None:
        """Take in what the client says."""
        try:
            self._stream.put(data)
        except BadMessage as error:
            self.refuse(str(error))
        self._read_on()

    def pause_writing(self) -> None:
        """Stop listening to the client until it has read its answers."""
        self._full = True

    def resume_writing(self) -> None:
        """Listen again."""
        self._full = False
        self._read_on()

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
        self.end()

    def registered(self, message: Register) -> None:
        """Take note of what its job says about itself."""
        join = message.join
        self.name, self.recipe, self.began = message.settings.name, join.recipe, time.time()
        self.table, self.team = message.table, join.team
        self.rank, self.world_size = join.rank, join.world_size
        self.about, self.fresh = message.about, join.fresh
        self.order, self.seed = join.order, join.seed
        self.rows = -(-join.rows.size // max(1, join.world_size))
        self.dataset = _dataset(message.about)
        self.elsewhere = join.elsewhere
        self.everywhere = message.everywhere if message.ticket else ""
        rows = msgspec.structs.replace(join, rows=NONE)  # what was said of it, without what is long
        self.register = msgspec.structs.replace(message, join=rows, about=b"", options=())

    @property
    def has_ended(self) -> bool:
        """Whether its client is gone."""
        return self._ended

    def note_want(self, said: Want) -> None:
        """Note how its job has spent its time, as it says; nonsense is not passed on."""
        if self.wait_s <= said.waited_s < _MOST_WAIT_S:
            self.wait_s = said.waited_s
        self.time.note(said)

    def keep(self, count: int) -> None:
        """Count bytes of the client that are kept until it ends."""
        self._allowance.take(count)
        self._kept_bytes += count

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; to a client that is gone they are lost."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, messages)

    def deliver(self, batch: Deliver) -> None:
        """Send a batch of its pass, and count it."""
        self.delivered += len(batch.positions) - len(batch.failed)
        self.owed -= 1
        if self.repeated:
            batch = replace(batch, repeated=self.repeated.popleft())
        self.send(replace(batch, number=self.number))

    def refuse(self, reason: str) -> None:
        """Say why the client cannot be served, and end."""
        self.send(Refuse(reason))
        self.end()

    def end(self) -> None:
        """Close the connection and let go of all the job held, once."""
        if self._ended:
            return
        self._ended = True
        loop = asyncio.get_running_loop()
        if self._pidfd >= 0:
            loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        if self._transport is not None:
            # It still gets what was sent, such as a refusal; one that does not read is cut off.
            self._mail.flush()
            self._transport.close()
            loop.call_later(_LINGER_S, self._transport.abort)
        self._stream.close()
        self._allowance.take(-self._kept_bytes)
        self._on_end(self)

    def _read_on(self) -> None:
        """Pass on some of what the client said; the rest comes in the next turn, after others."""
        try:
            for _ in range(_TURN):
                if self._ended or self._full:
                    break
                message = self._stream.take()
                if message is None:
                    break
                self._on_message(self, message)
            else:
                asyncio.get_running_loop().call_soon(self._read_on)
                self._listen(False)
                return
        except BadMessage as error:
            self.refuse(str(error))
        self._listen(not self._full)

    def _listen(self, wanted: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()


def _dataset(about: bytes) -> str:
    """Return what a client calls its dataset, which may be missing or odd."""
    try:
        said = json.loads(about or b"{}")["dataset"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    if not isinstance(said, str):
        return ""
    return said[:_MOST_LETTERS].encode(errors="replace").decode()  # half a character cannot travel
