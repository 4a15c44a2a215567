"""Fetches rows from other nodes instead of having workers prepare them; falls back to workers.

To the engine a home is like a worker: it gets `Prepare` and answers `Prepared` or `Sized`. A row is
fetched from its home if that home has shown that it prepares rows identically (`Trust`), can be
reached, and if the transfer takes less time than preparing the row. Otherwise, and for rows that
the home does not send, the workers of this node prepare it. The link owns a slot until it answers
or has ended (cluster/byte_link.py).

Not here: which nodes there are and which is the home of a row (neighbors.py), what other nodes ask
for (guests.py).
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from joader.cluster.byte_link import Arrival, ByteLink, Slot
from joader.memory import Arena
from joader.memory.contents import digest
from joader.memory.layout import Layout
from joader.messages import Event, Place, Prepare, Prepared, Sized
from joader.schedule.nodes.trust import Trust
from joader.schedule.nodes.worth import MOST_ROWS, Worth
from joader.schedule.work.orders import part_of
from joader.workers.pool import Pool

log = logging.getLogger("joader.cluster")


@dataclass
class Fetched:
    """Counts of samples by where they came from, since the daemon started."""

    prepared: int = 0  # by workers of this node, for any job on any node
    rows: int = 0
    bytes: int = 0
    not_sent: int = 0  # because homes did not have them in time
    lost: int = 0  # because their connection ended
    compared: int = 0
    too_dear: int = 0  # because preparing them here takes less time
    inherited: int = 0  # of those fetched: this node became their home as nodes came or went


class Route(NamedTuple):
    """The node that a row is fetched from, and how."""

    link: ByteLink
    moves: bool = False  # its home is here now, was there before: fetch only what is ready
    instead: ByteLink | None = None  # another home, while the first is not trusted yet


Kind = Literal["rows", "digests", "moves"]


@dataclass(frozen=True)
class _Wanted:
    """One row of an order."""

    order: Prepare
    place: int
    code: str

    @property
    def sample(self) -> int:
        return self.order.samples[self.place]

    @property
    def row(self) -> int:
        return self.order.rows[self.place]


@dataclass
class _Asked:
    recipe: str
    wanted: list[_Wanted]
    kind: Kind


@dataclass
class Fetching:
    """All rows that this node has asked other nodes for."""

    pool: Pool
    arena: Arena
    cores: int
    tell: Callable[[Event], None]
    trust: Trust = field(default_factory=Trust)
    counts: Fetched = field(default_factory=Fetched)
    # Called with rows of a recipe that their former home does not have any more.
    on_missing: Callable[[str, list[int]], None] = lambda recipe, rows: None
    _asked: dict[tuple[ByteLink, int], _Asked] = field(default_factory=dict)
    _outbox: dict[tuple[ByteLink, str, Kind], list[_Wanted]] = field(default_factory=dict)
    # Samples that did not fit their slots, until they are placed: layout, and whether a copy.
    _apart: dict[int, tuple[bytearray, bytes, bool]] = field(default_factory=dict)
    # Placed, but not reported yet: sample, offset, size, layout, and whether it is a copy.
    _placed: list[tuple[int, int, int, bytes, bool]] = field(default_factory=list)
    _from: dict[int, str] = field(default_factory=dict)  # the node that a sample comes from
    # Rows under comparison, by node, recipe and row: the digest of the side that was first.
    _halves: dict[tuple[str, str, int], bytes] = field(default_factory=dict)
    _compared_here: dict[int, tuple[str, str, int]] = field(default_factory=dict)  # by sample
    _code_of: dict[int, str] = field(default_factory=dict)  # of samples that workers here prepare
    _worth: Worth = field(default_factory=Worth)
    _leaving: set[str] = field(default_factory=set)  # nodes that leave and keep nothing they send

    # Orders in.

    def take(
        self, order: Prepare, code: str, recipe: str, row_limit: int, routes: list[Route | None]
    ) -> Prepare | None:
        """Take the rows that other nodes are asked for; return the rest, for the workers here."""
        here = dict(enumerate(order.rows))
        for place, route in enumerate(routes):
            if route is None:
                continue
            link, moves, instead = route
            word = self.trust.next(recipe, link.node.name, row_limit)
            if word == "wait" and instead is not None:
                link = instead
                word = self.trust.next(recipe, link.node.name, row_limit)
            node = link.node.name
            one = _Wanted(order, place, code)
            if word == "compare":
                key = node, recipe, one.row
                if key in self._halves or one.sample in self._compared_here:
                    self.trust.not_compared(recipe, node)
                    continue
                self._compared_here[one.sample] = key
                self._outbox.setdefault((link, recipe, "digests"), []).append(one)
            elif word == "fetch" and self._pays(code, node):
                kind: Kind = "moves" if moves else "rows"
                self._outbox.setdefault((link, recipe, kind), []).append(one)
                self._from[one.sample] = node
                del here[place]
        rest = order if len(here) == len(order.rows) else part_of(order, here)
        self.note_here(rest, code)
        return rest if here else None

    def inherit(
        self, order: Prepare, code: str, recipe: str, link: ByteLink | None
    ) -> Prepare | None:
        """Take what a node hands over at any cost: soon no other node has it.

        Return what it can no longer hand over, for the workers here.
        """
        if link is None:
            self.note_here(order, code)
            return order
        self._leaving.add(link.node.name)
        wanted = [_Wanted(order, place, code) for place in range(len(order.rows))]
        self._outbox.setdefault((link, recipe, "rows"), []).extend(wanted)
        self._from.update(dict.fromkeys(order.samples, link.node.name))
        return None

    def note_here(self, order: Prepare, code: str) -> None:
        """Remember rows that workers of this node prepare, to measure how long that takes."""
        self._code_of.update(dict.fromkeys(order.samples, code))

    def flush(self) -> None:
        """Ask for what was taken in this turn, many rows per message; report what was placed."""
        self._tell_placed()
        outbox, self._outbox = self._outbox, {}
        for (link, recipe, kind), wanted in outbox.items():
            for start in range(0, len(wanted), MOST_ROWS):
                some = wanted[start : start + MOST_ROWS]
                rows = np.array([one.row for one in some], np.int64)
                slots = [
                    Slot(one.order.offsets[one.place], one.order.sizes[one.place]) for one in some
                ]
                number = link.ask(
                    recipe,
                    rows,
                    slots,
                    digests=kind == "digests",
                    patience_s=self._patience_s(link, some),
                    moves=kind == "moves",
                )
                self._asked[link, number] = _Asked(recipe, some, kind)

    def _patience_s(self, link: ByteLink, some: list[_Wanted]) -> float:
        """Return how long a home may take, including for its earlier requests."""
        ahead = sum(len(asked.wanted) for (to, _), asked in self._asked.items() if to is link)
        return self._worth.patience_s(some[0].code, ahead + len(some))

    def _pays(self, code: str, node: str) -> bool:
        """Return whether a transfer beats preparing, as measured."""
        pays = self._worth.pays(code, node, self._from.values(), self.cores)
        self.counts.too_dear = self._worth.too_dear
        return pays

    # What comes.

    def arrived(self, link: ByteLink, arrival: Arrival) -> None:
        """Take in a home's answer."""
        asked = self._asked.pop((link, arrival.parcel.number))
        if asked.kind == "digests":
            self._take_digests(link, asked, arrival)
            return
        # A copy if the other node keeps the sample; not if it hands it over or had it for us.
        copied = asked.kind == "rows" and link.node.name not in self._leaving
        parcel, ready, back = arrival.parcel, [], []
        for place, (one, size) in enumerate(zip(asked.wanted, parcel.sizes, strict=True)):
            if size < 0:
                back.append(one)
                continue
            layout = parcel.layouts[parcel.layout_of[place]]
            if Layout.from_bytes(layout).size_bytes != size:
                back.append(one)
                link.close()  # it is not one of ours
            elif size > self.arena.size_bytes:
                back.append(one)  # too big for us: preparing it fails, and says why
            elif place in arrival.apart:
                self._apart[one.sample] = arrival.apart[place], layout, copied
                self.tell(Sized((one.sample,), (size,)))
            else:
                ready.append((one, max(1, size), layout))
        if parcel.bytes_per_s:
            self._worth.came(link.node.name, parcel.bytes_per_s)
        if ready:
            self._came(ready, copied)
        self.counts.not_sent += len(back)
        if back and asked.kind == "moves":
            self.on_missing(asked.recipe, [one.row for one in back])
        self._do_here(back)

    def _came(self, ready: list[tuple[_Wanted, int, bytes]], copied: bool) -> None:
        samples = tuple([one.sample for one, _, _ in ready])
        sizes = tuple([size for _, size, _ in ready])
        self.counts.rows += len(ready)
        self.counts.inherited += 0 if copied else len(ready)
        self.counts.bytes += sum(sizes)
        layouts = tuple([layout for _, _, layout in ready])
        self.tell(Prepared(samples, sizes, layouts, copied=copied))
        for one, _, layout in ready:
            self._from.pop(one.sample, None)
            self.pool.brought(one.sample, one.order.offsets[one.place], layout)

    def ended(self, link: ByteLink) -> None:
        """Give workers what was asked over a connection that has ended."""
        lost: list[_Wanted] = []
        for key in [key for key in self._asked if key[0] is link]:
            asked = self._asked.pop(key)
            if asked.kind == "digests":
                for one in asked.wanted:
                    self._forget_half(link.node.name, asked.recipe, one.row)
            else:
                lost += asked.wanted
        for name in [name for name in self._outbox if name[0] is link]:
            waiting = self._outbox.pop(name)
            if name[2] != "digests":
                lost += waiting
        self.counts.lost += len(lost)
        self._do_here(lost)

    def _do_here(self, wanted: Iterable[_Wanted]) -> None:
        """Give rows to the workers of this node."""
        by_order: dict[int, list[_Wanted]] = {}
        for one in wanted:
            self._from.pop(one.sample, None)
            by_order.setdefault(id(one.order), []).append(one)
        for some in by_order.values():
            rows = {one.place: one.row for one in some}
            part = part_of(some[0].order, rows)
            self.note_here(part, some[0].code)
            self.pool.prepare(part, some[0].code)
        if by_order:
            self.pool.feed()

    # What did not fit its slot.

    def place(self, message: Place) -> Place | None:
        """Write samples that did not fit to their new slots; return those that workers hold."""
        if not self._apart:
            return message
        rest: list[tuple[int, int, int]] = []
        slots = zip(message.samples, message.offsets, message.sizes, strict=True)
        for sample, offset, size in slots:
            if sample not in self._apart:
                rest.append((sample, offset, size))
                continue
            data, layout, copied = self._apart.pop(sample)
            self._from.pop(sample, None)
            self.arena.slot(offset, len(data))[:] = np.frombuffer(data, np.uint8)
            self._placed.append((sample, offset, max(1, len(data)), layout, copied))
        return Place(*zip(*rest, strict=True)) if rest else None

    def _tell_placed(self) -> None:
        # Reported later: own parts of the same turn assume that these are not ready yet.
        placed, self._placed = self._placed, []
        for sample, offset, size, layout, copied in placed:
            self.counts.rows += 1
            self.counts.inherited += not copied
            self.counts.bytes += size
            self.tell(Prepared((sample,), (size,), (layout,), copied=copied))
            self.pool.brought(sample, offset, layout)

    def drop(self, samples: Iterable[int]) -> None:
        """Forget samples that no job wants any more."""
        for sample in samples:
            self._apart.pop(sample, None)
            self._from.pop(sample, None)

    # Comparing.

    def prepared_here(self, report: Prepared, offset_of: Callable[[int], int]) -> None:
        """Take in what workers have prepared: measure it, and compare rows under comparison."""
        count = len(report.samples)
        sizes, layouts = report.size_of_each, report.layout_of_each
        codes = [self._code_of.pop(sample, "") for sample in report.samples]
        self.counts.prepared += count - codes.count("")  # samples of own parts have no row
        if report.seconds > 0.0 and codes[0]:
            self._worth.prepared(codes[0], report.seconds / count, sum(sizes) / count)
        if not self._compared_here:
            return
        for sample, layout in zip(report.samples, layouts, strict=True):
            key = self._compared_here.pop(sample, None)
            if key is not None:
                size = Layout.from_bytes(layout).size_bytes
                self._half(key, digest(layout, self.arena.slot(offset_of(sample), size)))

    def not_prepared(self, samples: Iterable[int]) -> None:
        """Note that samples failed or were lost with their worker: they cannot be compared."""
        for sample in samples:
            self._code_of.pop(sample, None)
            key = self._compared_here.pop(sample, None)
            if key is not None:
                self._forget_half(*key)

    def _take_digests(self, link: ByteLink, asked: _Asked, arrival: Arrival) -> None:
        for one, found in zip(asked.wanted, arrival.parcel.digests, strict=True):
            key = link.node.name, asked.recipe, one.row
            if found:
                self._half(key, found)
            else:
                self._forget_half(*key)

    def _half(self, key: tuple[str, str, int], found: bytes) -> None:
        node, recipe, row = key
        other = self._halves.pop(key, None)
        if other is None:
            self._halves[key] = found
            return
        if not other:
            return  # the other side failed
        self.counts.compared += 1
        before = self.trust.differs(recipe, node)
        self.trust.compared(recipe, node, other == found)
        if self.trust.differs(recipe, node) and not before:
            log.warning(
                "node %s does not prepare row %d of a dataset as this one does: its files differ, "
                "its libraries, or its code is random; nothing of that dataset is taken from it",
                *(node, row),
                extra={"event": "nodes_differ", "node": node, "row": row},
            )

    def _forget_half(self, node: str, recipe: str, row: int) -> None:
        key = node, recipe, row
        other = self._halves.pop(key, None)
        if other is None:
            self._halves[key] = b""  # the other side's digest will be useless
        if other != b"":  # otherwise both failed, and one of them was counted
            self.trust.not_compared(recipe, node)

    def forget(self, node: str) -> None:
        """Forget comparisons with a node that is gone."""
        self.trust.forget(node)
        self._worth.forget(node)
        self._leaving.discard(node)
        self._halves = {k: half for k, half in self._halves.items() if k[0] != node}
        here = self._compared_here.items()
        self._compared_here = {sample: key for sample, key in here if key[0] != node}

    def whereabouts(self, sample: int) -> str:
        """Say in words where a sample is, if it comes from another node."""
        node = self._from.get(sample)
        return f"is on its way from node {node}" if node else ""
