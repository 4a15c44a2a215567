"""A job that draws jointly, on its own node: drawn for here or by another node, the *drawer*.

It is
- *here*: its engine draws;
- *coupled*: the drawer draws what is left of its pass, and sends it a window ahead. What the job
  wants is passed on, so that the drawer knows how far it is, and how fast.

It can change state at any moment without waiting: draws that have come are read, the rest is drawn
by the next drawer. Not here: which node draws (joint.py), what it does (joint_guest.py).
"""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from joader.daemon.heirs import packed
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import BadArgument
from joader.messages import Array, Begin, Couple, Drew, Event, Leave, Register, Uncouple, Want
from joader.messages.joint import Bring, Draw
from joader.messages.ranks import Disband

log = logging.getLogger("joader.cluster")

Say = Callable[[Bring | Draw | Want | Leave], None]
# A job with more numbers, or with rows that take more bytes to send, draws for itself.
MOST_NUMBERS = 1 << 27
_MOST_BYTES = 1 << 22


class JointJob:
    """One job, and the state of its coupling."""

    def __init__(
        self,
        session: Session,
        message: Register,
        engine: Engine,
        tell: Callable[[Event], None],
        on_begin: Callable[["JointJob"], None],
    ) -> None:
        """Stand between the session and the engine; `on_begin` may couple its pass."""
        self.session, self.recipe = session, message.everywhere
        self.begun = False  # it has begun a pass
        self.drawer = ""  # its drawer; empty: this node
        self.elsewhere_since = 0.0  # since when it should be another one; 0: it is the right one
        self.starving_since = 0.0  # since when it waits for draws
        self._engine, self._tell_engine, self._on_begin = engine, tell, on_begin
        self._batch_size = message.join.batch_size
        self.known_at = ""  # the node that knows the job, even if it does not draw for this pass
        self._say: Say | None = None
        self._number = 0  # numbers its passes, from 0 in each coupling

    @property
    def job(self) -> int:
        """The number of the job on this node."""
        return self.session.job or 0

    def tell(self, event: Event) -> None:
        """Take in an event of the job, in place of the engine."""
        if isinstance(event, Begin):
            self.begun, self.drawer = True, ""  # the drawer has sent everything
            self._tell_engine(event)
            self._on_begin(self)
            return
        self._tell_engine(event)
        if isinstance(event, Want) and self.drawer and self._say is not None:
            self._say(Want(self.job, event.count))

    def couple(self, drawer: str, say: Say) -> bool:
        """Couple the rest of the pass to a drawer; return False if that is impossible."""
        if self.known_at != drawer:
            brought = self._bring()
            if brought is None:
                return False
            self.leave()
            say(brought)
            self.known_at, self._say = drawer, say
        self._tell_engine(Couple(self.job))
        left = self._packed_left()
        self._number += 1
        say(Draw(self.job, self._number, left))
        for count in self._engine.couplings.wants(self.job):
            say(Want(self.job, count))
        self.drawer = drawer
        self.elsewhere_since = self.starving_since = 0.0
        log.info("what job %d reads is drawn on node %s", self.job, drawer)
        return True

    def hear(self, message: Drew | Disband) -> str:
        """Take in a message of the drawer; return why it draws no more, if so."""
        if isinstance(message, Disband):
            return message.reason or "it no longer draws for this job"
        if not self.drawer or message.number != self._number:
            return ""  # for a pass that was broken off, or that another node draws by now
        try:
            self._tell_engine(Drew(self.job, message.numbers))
        except BadArgument as error:
            return str(error)
        return ""

    def leave(self) -> None:
        """Draw here again; tell the drawer, if there is one."""
        if self._say is not None:
            self._say(Leave(self.job))
        self.lost("")

    def lost_node(self, name: str, reason: str) -> None:
        """Note that a node cannot be reached any more."""
        if self.known_at == name:
            self.lost(reason)

    def lost(self, reason: str) -> None:
        """Draw here again, because the drawer is gone."""
        if self.drawer and self._engine.couplings.is_here(self.job):
            self._tell_engine(Uncouple(self.job))
        if self.drawer and reason:
            text = "job %d draws with the jobs of this node alone: node %s is lost: %s"
            log.info(text, self.job, self.drawer, reason)
        self.drawer = self.known_at = ""
        self._say = None
        self.elsewhere_since = self.starving_since = 0.0

    def _bring(self) -> Bring | None:
        """Return all rows that it may read, encoded; None if that is too long to send."""
        rows = self._engine.rows_of(self.job)
        times = max(1, rows.most_times)
        limit = rows.row_limit * times
        if not rows.numbers.size or limit > MOST_NUMBERS:
            return None
        numbers = b"" if rows.numbers.size == limit else packed(_array(rows.numbers), limit)
        if len(numbers) > _MOST_BYTES:
            return None
        return Bring(
            self.job,
            self.recipe,
            row_limit=rows.row_limit,
            batch_size=self._batch_size,
            times=times,
            numbers=numbers,
        )

    def _packed_left(self) -> bytes:
        rows = self._engine.rows_of(self.job)
        left = self._engine.couplings.awaited(self.job)
        if left.size == rows.numbers.size:
            return b""
        return packed(left, rows.row_limit * max(1, rows.most_times))


def _array(numbers: Any) -> Array:
    return np.asarray(numbers, np.int64)
