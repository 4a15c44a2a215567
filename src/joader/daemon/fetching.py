"""Rows that come from another node instead of a worker: asked for, awaited, or done here after all.

To the engine a home is like a worker: it gets `Prepare` and answers `Prepared` or `Sized`. A row
goes to its home if that has shown that it prepares the same (`Trust`), is reached, and if the bytes
take less time than preparing them; else the workers here do it, and so they do with what a home
does not send. A slot is the link's until it answers or has ended (cluster/byte_link.py).

Not here: who is there and whose home a row is (neighbors.py), what other nodes ask (guests.py).
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
    """Counts."""

    prepared: int = 0  # by workers of this node, for whomever
    rows: int = 0
    bytes: int = 0
    not_sent: int = 0  # homes did not have them in time
    lost: int = 0  # with their connection
    compared: int = 0
    too_dear: int = 0  # preparing them here takes less time
    inherited: int = 0  # of those that came: they live here since nodes have come or gone


class Route(NamedTuple):
    """Where a row comes from if not from workers here."""

    link: ByteLink
    moves: bool = False  # it lives here, and was there before: only what is ready there comes
    instead: ByteLink | None = None  # to another home, for as long as the first is not trusted


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
    """All that this node has asked of others."""

    pool: Pool
    arena: Arena
    cores: int
    tell: Callable[[Event], None]
    trust: Trust = field(default_factory=Trust)
    counts: Fetched = field(default_factory=Fetched)
    # Told rows of a recipe that are not where they were before they lived here.
    on_missing: Callable[[str, list[int]], None] = lambda recipe, rows: None
    _asked: dict[tuple[ByteLink, int], _Asked] = field(default_factory=dict)
    _outbox: dict[tuple[ByteLink, str, Kind], list[_Wanted]] = field(default_factory=dict)
    # Samples that did not fit their slots, until they are placed: layouts, and whether copies.
    _apart: dict[int, tuple[bytearray, bytes, bool]] = field(default_factory=dict)
    # Those that are, and not told yet: sample, offset, size, layout, and whether it is a copy.
    _placed: list[tuple[int, int, int, bytes, bool]] = field(default_factory=list)
    _from: dict[int, str] = field(default_factory=dict)  # the node that a sample comes from
    # Of rows that are compared, by node, recipe and row: what the first of both sides says.
    _halves: dict[tuple[str, str, int], bytes] = field(default_factory=dict)
    _compared_here: dict[int, tuple[str, str, int]] = field(default_factory=dict)  # by sample
    _code_of: dict[int, str] = field(default_factory=dict)  # of samples that workers here make
    _worth: Worth = field(default_factory=Worth)
    _leaving: set[str] = field(default_factory=set)  # nodes: what they send they will not keep

    # Orders in.

    def take(
        self, order: Prepare, code: str, recipe: str, row_limit: int, routes: list[Route | None]
    ) -> Prepare | None:
        """Take what other nodes are asked for; return the rest, which is for the workers here."""
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
        """Take what a node hands over, whatever it costs: soon nobody else has it.

        What it can hand over no more is for the workers here.
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
        """Remember what workers of this node are to do: how long it takes is of interest."""
        self._code_of.update(dict.fromkeys(order.samples, code))

    def flush(self) -> None:
        """Ask for what was taken in this turn, many rows at a time, and tell what was placed."""
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
        """Return how long a home may take: it has what was asked before to do first."""
        ahead = sum(len(asked.wanted) for (to, _), asked in self._asked.items() if to is link)
        return self._worth.patience_s(some[0].code, ahead + len(some))

    def _pays(self, code: str, node: str) -> bool:
        """Tell whether bytes are here sooner than they are prepared, by what was measured."""
        pays = self._worth.pays(code, node, self._from.values(), self.cores)
        self.counts.too_dear = self._worth.too_dear
        return pays

    # What comes.

    def arrived(self, link: ByteLink, arrival: Arrival) -> None:
        """Take in what a home has answered."""
        asked = self._asked.pop((link, arrival.parcel.number))
        if asked.kind == "digests":
            self._take_digests(link, asked, arrival)
            return
        # What the other node keeps is a copy here; what it hands over or has for us is not.
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
                back.append(one)  # another node has more memory; here it fails, and says why
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
        """Have done here what a connection that has ended was asked for."""
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
        """Write what was kept apart to its place; return the rest, which workers have."""
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
        # Not at once: own parts that were said in the same turn take these for not ready yet.
        placed, self._placed = self._placed, []
        for sample, offset, size, layout, copied in placed:
            self.counts.rows += 1
            self.counts.inherited += not copied
            self.counts.bytes += size
            self.tell(Prepared((sample,), (size,), (layout,), copied=copied))
            self.pool.brought(sample, offset, layout)

    def drop(self, samples: Iterable[int]) -> None:
        """Forget what nobody wants any more."""
        for sample in samples:
            self._apart.pop(sample, None)
            self._from.pop(sample, None)

    # Comparing.

    def prepared_here(self, report: Prepared, offset_of: Callable[[int], int]) -> None:
        """Take in what workers have prepared: how long it took, and what is to be compared."""
        count = len(report.samples)
        sizes, layouts = report.size_of_each, report.layout_of_each
        codes = [self._code_of.pop(sample, "") for sample in report.samples]
        self.counts.prepared += count - codes.count("")  # a job's own parts are nobody's rows
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
        """Note that samples failed here, or went with their worker: nothing is compared."""
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
            return  # the other side came to nothing
        self.counts.compared += 1
        before = self.trust.differs(recipe, node)
        self.trust.compared(recipe, node, other == found)
        if self.trust.differs(recipe, node) and not before:
            log.warning(
                "node %s prepares row %d of a dataset otherwise than this one: its files differ, "
                "its libraries, or its code is random; nothing of that dataset is taken from it",
                *(node, row),
                extra={"event": "nodes_differ", "node": node, "row": row},
            )

    def _forget_half(self, node: str, recipe: str, row: int) -> None:
        key = node, recipe, row
        other = self._halves.pop(key, None)
        if other is None:
            self._halves[key] = b""  # what the other side says will be of no use
        if other != b"":  # else both came to nothing, and one of them was counted
            self.trust.not_compared(recipe, node)

    def forget(self, node: str) -> None:
        """Forget what was compared with a node that has gone."""
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
