"""How a node leaves its cluster in good order: samples that only it has go to nodes that stay.

A node is
- *here*;
- *leaving* (`begun`): it is the home of no row any more, and has announced which rows only it has;
  each is fetched by its next home (heirs.py);
- *gone*: all takers have finished, or HAND_OVER_S have passed.

Samples of a single job, random samples, and datasets made of pieces are not handed over.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

import msgspec

from joader.daemon.heirs import packed
from joader.daemon.registration import Registration
from joader.engine import Engine

log = logging.getLogger("joader.cluster")

# Less than DRAIN_S (daemon.py), and less than Slurm and Kubernetes give.
HAND_OVER_S = 8.0
# The longest announcement; rows beyond it are not handed over. A million rows take 125 kB.
_MOST_BYTES = 1 << 19


class Leaving:
    """The state of a node that may leave its cluster."""

    def __init__(self, engine: Engine, registration: Registration) -> None:
        """Stay, until `begin`."""
        self.begun = False
        self.said = b""  # the announcement: rows by recipe, as `offers` returns them
        self._engine, self._registration = engine, registration
        self._waits_for: set[str] = set()
        self._done: Callable[[], None] | None = None
        self.recipes: set[str] = set()  # recipes handed over, by their name on all machines

    def offers(self) -> bytes:
        """Begin to leave; return the announcement: rows that only this node has, by recipe."""
        self.begun = True
        said: dict[str, bytes] = {}
        size = 0
        for everywhere, register in self._registration.hosted.items():
            rows = self._engine.inheritance.last_copies(register.join.recipe)
            data = packed(rows, register.join.row_limit) if rows.size else b""
            size += len(data)
            if data and size <= _MOST_BYTES:
                said[everywhere] = data
        self.recipes = set(said)
        return msgspec.msgpack.encode(said) if said else b""

    def begin(
        self,
        able: Mapping[str, Collection[str]],
        linked: Collection[str],
        done: Callable[[], None],
    ) -> None:
        """Note which nodes can take rows and fetch from here already: leaving waits for them.

        `able` holds the recipes of jobs, by node.
        """
        self._waits_for = {name for name in linked if self.recipes.intersection(able.get(name, ()))}
        self._done = done
        asyncio.get_running_loop().call_later(HAND_OVER_S, self._end)
        if not self._waits_for:
            self._end()

    def has_enough(self, node: str) -> None:
        """Note that a node has finished taking."""
        if node in self._waits_for:
            self._waits_for.discard(node)
            if not self._waits_for:
                self._end()

    def _end(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            if self._waits_for:
                log.info("not all was handed over: %s took too long", ", ".join(self._waits_for))
            done()
