"""A job of another node that is drawn for here, together with the jobs of this one.

To the engine it is a job that draws jointly and is *remote* (engine/couplings.py): it gets no
samples, no workers and no memory here, and what is drawn for it is sent.
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
    """One job, where others have a client's connection."""

    def __init__(
        self,
        bring: Bring,
        node: str,
        say: Callable[[Drew | Disband], None],
        on_end: Callable[["JointGuest"], None],
        engine: Engine,
    ) -> None:
        """Be nobody's process; what is said goes to the job's node."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.elsewhere = self.remote = True
        self.called, self.drawn_recipe = bring.job, bring.recipe
        self.name = f"job {bring.job} of node {node}"
        self._say, self._on_gone, self._engine = say, on_end, engine
        self._limit = bring.row_limit * bring.times

    def join(self, bring: Bring, known: Join) -> Join:
        """Return as what it joins; `known`: of a job here that reads the same recipe."""
        return Join(
            0,
            known.recipe,
            # In the order of numbers, so a row that comes again is numbered as on its node.
            _all_numbers(bring) % bring.row_limit,
            row_limit=bring.row_limit,
            batch_size=bring.batch_size,
            order="joint",
            stream=known.stream,
            stored=known.stored,
            remote=True,
        )

    def hear(self, message: Draw | Want, tell: Callable[[Event], None]) -> None:
        """Take in what its node says."""
        assert self.job is not None
        if isinstance(message, Draw):
            self.number = message.number
            tell(Begin(self.job, done=self._done(message.left)))
        else:
            tell(replace(message, job=self.job, now=asyncio.get_running_loop().time()))

    def send(self, *messages: Any) -> None:
        """Send what was drawn; nothing else that a client is told concerns it."""
        for message in messages:
            if isinstance(message, Drew):
                self._say(replace(message, job=self.called))

    def refuse(self, reason: str) -> None:
        """Let it draw on its own node."""
        self._say(Disband(self.called, reason))
        self._on_gone(self)

    def end(self) -> None:
        """Let it draw on its own node: the daemon ends."""
        self.refuse("its daemon ends")

    def _done(self, left: bytes) -> Array:
        """Return the positions, here, of numbers that are not to be drawn."""
        if not left or self.job is None:
            return NONE
        is_left = np.zeros(self._limit, np.bool_)
        is_left[unpacked(left, self._limit)] = True
        return np.flatnonzero(~is_left[self._engine.rows_of(self.job).numbers])


def _all_numbers(bring: Bring) -> Array:
    limit = bring.row_limit * bring.times
    if not 0 < limit <= MOST_NUMBERS:
        raise BadArgument(f"{bring.row_limit} rows, {bring.times} times: that is never said")
    if not bring.numbers:
        return np.arange(limit)
    try:
        return unpacked(bring.numbers, limit)
    except ValueError as error:
        raise BadArgument(f"rows that cannot be read: {error}") from error
