"""How a node leaves its cluster in good order: what it has alone goes to those who stay.

A node is
- *here*;
- *leaving* (`begun`): it is nobody's home any more, and has said which rows it has alone; others
  fetch them (heirs.py), each those whose home it is next;
- *gone*: all who could take something have enough, or HAND_OVER_S have passed.

What is one job's alone, random samples, and datasets made of pieces are not handed over.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

import msgspec

from joader.daemon.heirs import packed
from joader.daemon.registration import Registration
from joader.engine import Engine

log = logging.getLogger("joader.cluster")

# Less than a daemon has until it ends whoever waits (drain.py), and than Slurm and Kubernetes give.
HAND_OVER_S = 8.0
# Of what a node says of itself; what does not fit is not handed over. A million rows take 125 kB.
_MOST_BYTES = 1 << 19


class Leaving:
    """The end of a node in its cluster."""

    def __init__(self, engine: Engine, registration: Registration) -> None:
        """Stay, until `begin`."""
        self.begun = False
        self.said = b""  # what others are told: rows by recipe, as `offers` returns them
        self._engine, self._registration = engine, registration
        self._waits_for: set[str] = set()
        self._done: Callable[[], None] | None = None
        self.recipes: set[str] = set()  # that are handed over, as they are called on any machine

    def offers(self) -> bytes:
        """Begin: return which rows are only here, by recipe, as others are told."""
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
        """Wait for those who can take what is handed over, and fetch from here already.

        `able`: by node, recipes of jobs there.
        """
        self._waits_for = {name for name in linked if self.recipes.intersection(able.get(name, ()))}
        self._done = done
        asyncio.get_running_loop().call_later(HAND_OVER_S, self._end)
        if not self._waits_for:
            self._end()

    def has_enough(self, node: str) -> None:
        """Note that a node has all that it takes, or takes nothing any more."""
        if node in self._waits_for:
            self._waits_for.discard(node)
            if not self._waits_for:
                self._end()

    def _end(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            if self._waits_for:
                log.info("not all was handed over: %s took longer", ", ".join(self._waits_for))
            done()
