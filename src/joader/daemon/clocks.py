"""How far streams are read on other nodes: what the engine hears, and what this node says.

Jobs on all nodes follow one order, so they read the same rows at about the same time. What is said
are counts, never rows.
"""

from collections.abc import Callable

import msgspec

from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.messages import Event, Hear

# Homes of rows are drawn anew after so many generations of a stream: ranks of one job then see
# other rows than before. It costs a transfer of most rows.
SALT_EVERY = 8
# A node that goes may have opened so many generations since it last said how far it was.
UNSAID = 4
_Clocks = tuple[int, int, tuple[tuple[int, int, int, int], ...]]


class Clocks:
    """The clocks of all nodes but this one."""

    def __init__(
        self, engine: Engine, registration: Registration, tell: Callable[[Event], None]
    ) -> None:
        """Know of none."""
        self._engine, self._registration, self._tell = engine, registration, tell
        self._clocks: dict[str, dict[str, _Clocks]] = {}  # by recipe and node
        self._heard: dict[str, Hear] = {}  # by recipe: what the engine was told last
        self._latest: dict[str, int] = {}  # by recipe: the latest generation of any group
        self._past: dict[str, int] = {}  # the same, of before this node came

    def salt(self, recipe: str) -> tuple[int, bool]:
        """Return the salt of a recipe's homes, and whether it has changed in this generation.

        Nodes hear of a generation within a tick. Until then they take other homes for a row, which
        costs a preparation.
        """
        salt, since = divmod(max(0, self._latest.get(recipe, 0) - 1), SALT_EVERY)
        return salt, salt > 0 and since == 0

    def forget(self, node: str) -> None:
        """Forget a node that has gone."""
        for recipe, clocks in self._clocks.items():
            if clocks.pop(node, None) is not None:
                self._hear(recipe)

    def said(self, node: str, recipe: str, value: bytes) -> None:
        """Take in how far a node says it is in a recipe; nothing: it reads it no more."""
        clocks = self._clocks.setdefault(recipe, {})
        if value:
            clocks[node] = msgspec.msgpack.decode(value, type=_Clocks)
            self._note(recipe, clocks[node][1])
        else:
            clocks.pop(node, None)
        self._hear(recipe)

    def before(self, recipe: str, value: bytes) -> None:
        """Take in how far a recipe was read before this node came, as `latest` of some node.

        By jobs that may come here now, also by those of this node before it was started again.
        """
        self._past[recipe] = int.from_bytes(value) + UNSAID
        self._hear(recipe)

    def latest(self, recipe: str) -> bytes:
        """Return the latest generation of a recipe, for nodes that come; a later one is greater."""
        return self._latest.get(recipe, 0).to_bytes(8)

    def joined(self, recipe: str) -> None:
        """Let a job that joins know how far others are."""
        self._heard.pop(recipe, None)
        self._hear(recipe)

    def _note(self, recipe: str, generation: int) -> None:
        self._latest[recipe] = max(generation, self._latest.get(recipe, 0))

    def of(self, host: Session) -> bytes:
        """Return how far the recipe of a job is read here, for others; nothing if it is not."""
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
        # As the engine has it: a recipe that was open before keeps its own orders.
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
