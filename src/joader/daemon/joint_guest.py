"""A job of another node that this node draws for, together with its own jobs.

To the engine it is a job that draws jointly and is *remote* (engine/couplings.py): it gets no
samples, workers or memory here; its draws are sent to its node.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from joader.daemon.heirs import unpacked
from joader.daemon.joint_job import MOST_NUMBERS
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import BadArgument
from joader.messages import Array, Begin, Drew, Event, Join, Want
from joader.messages.fields import NONE
from joader.messages.joint import Bring, Draw
from joader.messages.ranks import Disband
from joader.wire import Allowance


class JointGuest(Session):
    """One job of another node, in place of a client's connection."""

    def __init__(
        self,
        bring: Bring,
        node: str,
        say: Callable[[Drew | Disband], None],
        on_end: Callable[["JointGuest"], None],
        engine: Engine,
    ) -> None:
        """Stand for the job instead of a process; what it is told goes to its node."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.elsewhere = self.remote = True
        self.called, self.drawn_recipe = bring.job, bring.recipe
        self.name = f"job {bring.job} of node {node}"
        self._say, self._on_gone, self._engine = say, on_end, engine
        self._limit = bring.row_limit * bring.times

    def join(self, bring: Bring, known: Join) -> Join:
        """Return its Join; `known` is that of a job here that reads the same recipe."""
        return Join(
            0,
            known.recipe,
            # In numerical order, so that a repeated row gets the same number as on its node.
            _all_numbers(bring) % bring.row_limit,
            row_limit=bring.row_limit,
            batch_size=bring.batch_size,
            order="joint",
            stream=known.stream,
            stored=known.stored,
            remote=True,
        )

    def hear(self, message: Draw | Want, tell: Callable[[Event], None]) -> None:
        """Take in a message of its node."""
        assert self.job is not None
        if isinstance(message, Draw):
            self.number = message.number
            tell(Begin(self.job, done=self._done(message.left)))
        else:
            tell(replace(message, job=self.job, now=asyncio.get_running_loop().time()))

    def send(self, *messages: Any) -> None:
        """Send draws, and skip other messages to clients."""
        for message in messages:
            if isinstance(message, Drew):
                self._say(replace(message, job=self.called))

    def refuse(self, reason: str) -> None:
        """Send it back to draw on its own node."""
        self._say(Disband(self.called, reason))
        self._on_gone(self)

    def end(self) -> None:
        """Send it back to draw on its own node, because the daemon ends."""
        self.refuse("its daemon ends")

    def _done(self, left: bytes) -> Array:
        """Return the positions, in this node's numbering, that must not be drawn."""
        if not left or self.job is None:
            return NONE
        is_left = np.zeros(self._limit, np.bool_)
        is_left[unpacked(left, self._limit)] = True
        return np.flatnonzero(~is_left[self._engine.rows_of(self.job).numbers])


def _all_numbers(bring: Bring) -> Array:
    limit = bring.row_limit * bring.times
    if not 0 < limit <= MOST_NUMBERS:
        raise BadArgument(f"{bring.row_limit} rows, {bring.times} times: too many to be sent")
    if not bring.numbers:
        return np.arange(limit)
    try:
        return unpacked(bring.numbers, limit)
    except ValueError as error:
        raise BadArgument(f"cannot decode rows: {error}") from error
