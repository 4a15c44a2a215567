"""One client, as the daemon sees it: a connection, a watched process, at most one job.

A session ends as soon as its socket closes or its process dies (pidfd), because a forked child of a
job may keep the socket open long after the job is gone.

The cost of a client to the daemon is bounded. A few of its messages are handled per turn, and none
while it does not read its answers; after the end of the session none are handled. Its messages
count against the allowance of all clients until they are handled; data that is kept counts until
the end.
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

# The most messages of one client that are handled in one turn of the loop.
_TURN = 64
# The most batches that a client may have requested and not received; ours request four at most.
MOST_OWED = 256
# How long a refused client may take to read the reason.
_LINGER_S = 5.0
# A client that reports a longer wait is not believed.
_MOST_WAIT_S = 1e10
# The longest dataset name that is kept.
_MOST_LETTERS = 200


class Relayed(Protocol):
    """Stands between a job and the engine: see rank_relay.py and joint_job.py."""

    def end(self, *, alone: bool) -> None:
        """Take note that the session has ended; if not `alone`, the daemon ends."""

    def asks_why(self) -> bool:
        """Tell the client which ranks it waits for, if any."""


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
        """Pass messages and the end of the session to these callbacks; a watcher only asks."""
        self.pid, self.watches = pid, watches
        self.job: int | None = None
        self.name = self.recipe = self.table = self.team = ""
        self.label = ""  # its name on every screen
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
        self.wait_s = 0.0  # that it has waited for batches, by its own clock
        self.time = TimeUse()
        self.dataset = ""  # as it calls it
        self.elsewhere = False  # it stands for another node, not a client
        self.remote = False  # a rank at the node that plans for it
        self.everywhere = ""  # its recipe on any machine, if its workers can prepare for others
        self.register: Register | None = None
        self.known_layouts: set[int] = set()
        self.relay: Relayed | None = None  # of a rank whose team may be planned elsewhere
        self.repeated: deque[int] = deque()  # what fills up the steps that are on their way to it
        self.tell: Callable[[Event], None] = lambda event: None  # takes its events
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
            return  # otherwise it is gone, or in another pid namespace: the socket's end will tell
        asyncio.get_running_loop().add_reader(self._pidfd, self.end)

    def data_received(self, data: bytes) -> None:
        """Decode the client's messages; `_pass_on` handles them."""
        try:
            self._stream.put(data)
        except BadMessage as error:
            self.refuse(str(error))
        self._read_on()

    def pause_writing(self) -> None:
        """Stop listening to the client until it has read its answers."""
        self._full = True

    def resume_writing(self) -> None:
        """Resume reading from the client."""
        self._full = False
        self._read_on()

    def connection_lost(self, error: Exception | None) -> None:
        """End the session: the connection is closed."""
        self.end()

    def registered(self, message: Register) -> None:
        """Note what the job says about itself."""
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
        rows = msgspec.structs.replace(join, rows=NONE)  # its description, without long texts
        self.register = msgspec.structs.replace(message, join=rows, about=b"", options=())

    @property
    def has_ended(self) -> bool:
        """Whether the session has ended."""
        return self._ended

    def note_want(self, said: Want) -> None:
        """Note how the job says it has spent its time; impossible values are ignored."""
        if self.wait_s <= said.waited_s < _MOST_WAIT_S:
            self.wait_s = said.waited_s
        self.time.note(said)

    def keep(self, count: int) -> None:
        """Count bytes of the client that are kept until it ends."""
        self._allowance.take(count)
        self._kept_bytes += count

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; they are lost if the client is gone."""
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
        """Send the client the reason for a refusal, and end."""
        self.send(Refuse(reason))
        self.end()

    def end(self) -> None:
        """Close the connection and release all that the job held; later calls do nothing."""
        if self._ended:
            return
        self._ended = True
        loop = asyncio.get_running_loop()
        if self._pidfd >= 0:
            loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        if self._transport is not None:
            # It still gets what was sent, such as a refusal, unless it does not read for some time.
            self._mail.flush()
            self._transport.close()
            loop.call_later(_LINGER_S, self._transport.abort)
        self._stream.close()
        self._allowance.take(-self._kept_bytes)
        self._on_end(self)

    def _read_on(self) -> None:
        """Handle some of the client's messages; the rest waits for the next turn."""
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
    """Return a client's name for its dataset, which may be missing or of any type."""
    try:
        said = json.loads(about or b"{}")["dataset"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    if not isinstance(said, str):
        return ""
    return said[:_MOST_LETTERS].encode(errors="replace").decode()  # it may hold surrogates
