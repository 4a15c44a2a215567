"""Which rows with their home here other nodes hold: asked once, whenever rows get their home here.

A row's home changes when a node begins to read a recipe, when none of its jobs reads it any more,
and when the node is gone. The new home asks all nodes that may have such rows, once, which ones
they hold: a compressed bitmap. Those are fetched from there when a job reads them, never ahead of
time, so that a joining node is not flooded; rows that no node holds are prepared. So a joining node
moves its share and prepares nothing again (tests/cluster/test_joining.py).

A holder may have evicted a row by then: `missing` is told. Not here: which node is a row's home
(where.py), and how samples are handed over when this node leaves (leaving.py, heirs.py).
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from joader.cluster.byte_link import ByteLink
from joader.daemon.heirs import packed, unpacked
from joader.daemon.registration import Registration
from joader.engine import Engine
from joader.messages.fields import NONE
from joader.messages.nodes import Held

log = logging.getLogger("joader.cluster")

# How long an answer about a recipe is reused: when a node goes, all others ask at once.
_KNOWN_S = 1.0
# Longer answers are not sent; 32 million rows take as many bytes.
_MOST_BYTES = 1 << 22
_NOBODY = -1

Able = Mapping[str, Collection[str]]  # by other node: recipes


class Holdings:
    """Rows that other nodes hold of recipes that are read here, and this node's own answers."""

    def __init__(
        self, engine: Engine, registration: Registration, link: Callable[[str], ByteLink | None]
    ) -> None:
        """Start without answers; `link` returns the link to a node, if it can be reached now."""
        self._engine, self._registration, self._link = engine, registration, link
        self._names: list[str] = []  # names of nodes, by their numbers in `_holders`
        self._holders: dict[str, NDArray[np.int16]] = {}  # by recipe: each row's holder
        self._asked: dict[str, set[str]] = {}  # by recipe: nodes that were asked
        self._able: dict[str, set[str]] = {}  # by recipe: its nodes at the last look
        self._said: dict[str, tuple[float, Held]] = {}  # by recipe: our last answer, and when

    # What others have.

    def look(self, able: Able, keep: Able) -> None:
        """Ask nodes that were not asked since rows got their home here.

        `able` are nodes whose jobs read a recipe, `keep` those that only have samples left.
        """
        mine = self._mine()
        for recipe in self._asked.keys() - mine:
            for known in (self._asked, self._able, self._holders):
                known.pop(recipe, None)
        for recipe in mine:
            asked = self._asked.setdefault(recipe, set())
            now = {name for name, recipes in able.items() if recipe in recipes}
            if self._able.get(recipe, now) - now:
                asked.clear()  # its rows have another home now, some of them here
            self._able[recipe] = now
            kept = {name for name, recipes in keep.items() if recipe in recipes}
            for name in (now | kept) - asked:
                link = self._link(name)
                if link is not None:
                    asked.add(name)
                    link.ask_held(recipe)

    def told(self, node: str, held: Held) -> None:
        """Take in a node's answer."""
        register = self._registration.hosted.get(held.recipe)
        if register is None or held.recipe not in self._asked:
            return  # no job here reads it any more
        row_limit = register.join.row_limit
        try:
            kept, copies = (
                unpacked(data, row_limit) if data else NONE for data in (held.kept, held.copies)
            )
        except ValueError as error:
            log.warning("cannot decode which rows node %s holds: %s", node, error)
            return
        holders = self._known(held.recipe, row_limit)
        if holders is None:
            holders = self._holders[held.recipe] = np.full(row_limit, _NOBODY, np.int16)
        number = self._number(node)
        holders[holders == number] = _NOBODY
        holders[kept] = number
        holders[copies[holders[copies] == _NOBODY]] = number  # the first to leave there

    def holders(self, recipe: str, rows: Sequence[int]) -> list[str]:
        """Return the node that holds each row; empty if none is known to."""
        known = self._known(recipe, max(rows) + 1)
        if known is None:
            return [""] * len(rows)
        return [self._names[one] if one >= 0 else "" for one in known[np.array(rows)].tolist()]

    def missing(self, recipe: str, rows: Collection[int]) -> None:
        """Note that a holder did not have these rows any more."""
        known = self._known(recipe, max(rows) + 1)
        if known is not None:
            known[list(rows)] = _NOBODY

    def forget(self, node: str) -> None:
        """Forget the answers of a node that is gone."""
        for asked in self._asked.values():
            asked.discard(node)
        if node in self._names:
            number = self._number(node)
            for holders in self._holders.values():
                holders[holders == number] = _NOBODY
            self._names[number] = ""  # for the next

    def _known(self, recipe: str, least: int) -> NDArray[np.int16] | None:
        """Return each row's holder; None if nodes were asked about a dataset with fewer rows."""
        known = self._holders.get(recipe)
        return known if known is not None and known.size >= least else None

    def _number(self, node: str) -> int:
        if node not in self._names:
            if "" in self._names:
                self._names[self._names.index("")] = node
            else:
                self._names.append(node)
        return self._names.index(node)

    def _mine(self) -> set[str]:
        """Return recipes of which other nodes may hold rows for jobs here."""
        return self._registration.hosts().keys() & self._registration.hosted.keys()

    # What this node has.

    def kept(self) -> list[str]:
        """Return recipes that no job here reads any more, but of which samples may be left."""
        hosts = self._registration.hosts()
        return sorted(
            recipe
            for recipe, register in self._registration.hosted.items()
            if recipe not in hosts and self._engine.has_recipe(register.join.recipe)
        )

    def held(self, recipe: str) -> Held:
        """Answer another node: return which rows this node holds."""
        now = asyncio.get_running_loop().time()
        self._said = {name: one for name, one in self._said.items() if now - one[0] < _KNOWN_S}
        if recipe not in self._said:
            self._said[recipe] = now, self._ready(recipe)
        return self._said[recipe][1]

    def _ready(self, recipe: str) -> Held:
        register, inheritance = self._registration.hosted.get(recipe), self._engine.inheritance
        if register is None:
            return Held(recipe, b"", b"")
        join = register.join
        each = [inheritance.last_copies(join.recipe), inheritance.copies(join.recipe)]
        said = [packed(rows, join.row_limit) if rows.size else b"" for rows in each]
        return Held(recipe, *(data if len(data) <= _MOST_BYTES else b"" for data in said))
