"""How far streams are read on each node: what this node tells others, and what the engine hears.

Jobs on all nodes follow one order, so they read the same rows at about the same time. Nodes
exchange counts, never rows.
"""

from collections.abc import Callable

import msgspec

from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.messages import Event, Hear

# Homes of rows are redrawn after this many generations of a stream, so that ranks of one job see
# other rows than before. It costs a transfer of most rows.
SALT_EVERY = 8
# How many generations a node may have opened between its last report and its end.
UNSAID = 4
_Clocks = tuple[int, int, tuple[tuple[int, int, int, int], ...]]


class Clocks:
    """The clocks of all nodes but this one."""

    def __init__(
        self, engine: Engine, registration: Registration, tell: Callable[[Event], None]
    ) -> None:
        """Start without any reports."""
        self._engine, self._registration, self._tell = engine, registration, tell
        self._clocks: dict[str, dict[str, _Clocks]] = {}  # by recipe and node
        self._heard: dict[str, Hear] = {}  # by recipe: the last report to the engine
        self._latest: dict[str, int] = {}  # by recipe: the latest generation of any group
        self._past: dict[str, int] = {}  # the same, from before this node joined

    def salt(self, recipe: str) -> tuple[int, bool]:
        """Return the salt of a recipe's homes, and whether this generation changed it.

        Nodes hear of a generation within a tick. Until then they take other homes for a row, which
        costs a preparation.
        """
        salt, since = divmod(max(0, self._latest.get(recipe, 0) - 1), SALT_EVERY)
        return salt, salt > 0 and since == 0

    def forget(self, node: str) -> None:
        """Drop the clocks of a node that is gone."""
        for recipe, clocks in self._clocks.items():
            if clocks.pop(node, None) is not None:
                self._hear(recipe)

    def said(self, node: str, recipe: str, value: bytes) -> None:
        """Take in how far a node is in a recipe; an empty report: it reads it no more."""
        clocks = self._clocks.setdefault(recipe, {})
        if value:
            clocks[node] = msgspec.msgpack.decode(value, type=_Clocks)
            self._note(recipe, clocks[node][1])
        else:
            clocks.pop(node, None)
        self._hear(recipe)

    def before(self, recipe: str, value: bytes) -> None:
        """Take in how far a recipe was read before this node joined: `latest` of another node.

        Its readers may be jobs that join here now, or jobs of this node before its restart.
        """
        self._past[recipe] = int.from_bytes(value) + UNSAID
        self._hear(recipe)

    def latest(self, recipe: str) -> bytes:
        """Return the latest generation of a recipe, for nodes that join; a later one is greater."""
        return self._latest.get(recipe, 0).to_bytes(8)

    def joined(self, recipe: str) -> None:
        """Tell the engine how far others are, before a job joins."""
        self._heard.pop(recipe, None)
        self._hear(recipe)

    def _note(self, recipe: str, generation: int) -> None:
        self._latest[recipe] = max(generation, self._latest.get(recipe, 0))

    def of(self, host: Session) -> bytes:
        """Return how far a job's recipe is read here, for other nodes; empty if it is not."""
        assert host.register is not None
        found = self._engine.clocks().get(host.register.join.recipe)
        if found is None:
            return b""
        stream, latest, each = found
        self._note(host.everywhere, latest)
        return msgspec.msgpack.encode((stream, latest, tuple(map(tuple, each))))

    def _hear(self, recipe: str) -> None:
        """Tell the engine how far other nodes are in a recipe, if it is read here."""
        host = self._registration.host_of(recipe)
        if host is None or host.register is None:
            return
        # Ask the engine: a recipe that was open before keeps its own orders.
        stream, *_ = self._engine.clocks().get(host.register.join.recipe, (0, 0, []))
        clocks = tuple(
            clock
            for said, _, each in self._clocks.get(recipe, {}).values()
            if said == stream
            for clock in each
        )
        past = max(self._latest.get(recipe, 0), self._past.get(recipe, 0))
        event = Hear(host.register.join.recipe, stream, clocks, past)
        if stream and self._heard.get(recipe) != event:
            self._heard[recipe] = event
            self._tell(event)
