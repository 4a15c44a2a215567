"""What simulated nodes ask of each other, decided by the code that decides it in daemons.

Where a row lives, who is trusted and what is worth fetching come from `schedule.nodes`; how far
jobs are read elsewhere is heard by the engine. What daemon/fetching.py does with sockets is done
here with the clock; what the nodes that are asked do is in guests.py. Not modeled: nodes that come,
leave or die, and ranks of one job on several nodes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from joader.daemon.clocks import SALT_EVERY
from joader.daemon.neighbors import TICK_S
from joader.messages import Event, Hear, Place, Prepare, Prepared, Sized
from joader.sampling.generation import Clock
from joader.schedule.nodes import placement
from joader.schedule.nodes.trust import Trust
from joader.schedule.nodes.worth import MOST_ROWS, Worth
from joader.schedule.work.orders import part_of
from joader.simulator.machine import clock as virtual
from joader.simulator.machine.guests import FIRST_GUEST, NETWORK_S, Ask, Guests, stream_of
from joader.simulator.machine.workload import JobSpec, MachineSpec

# Before the first rows a node is connected to; those of the same moment are prepared here.
CONNECT_S = 0.02

# Of each recipe: its stream, its latest generation, and how far it is read.
Clocks = dict[str, tuple[int, int, list[Clock]]]


class Daemon(Protocol):
    """What neighbors need of the node that they belong to."""

    def tell(self, event: Event) -> None:
        """Let the engine take an event in."""

    def do_here(self, order: Prepare) -> None:
        """Have workers of this node prepare rows."""

    def brought(self, sample: int, offset: int) -> None:
        """Note that a sample is in its slot that no worker has prepared."""

    def clocks(self) -> Clocks:
        """Return how far all recipes are read here."""


@dataclass
class Moved:
    """Counts of one node."""

    prepared: int = 0
    fetched: int = 0
    compared: int = 0
    not_sent: int = 0


class Neighbors:
    """All other nodes, as one node knows them."""

    def __init__(self, clock: virtual.Clock, machine: MachineSpec, name: str, node: Daemon) -> None:
        """Know of none; `meet` names them."""
        self.name, self.counts = name, Moved()
        self._clock, self._machine, self._node = clock, machine, node
        self._others: dict[str, Neighbors] = {}
        self.guests = Guests(clock, machine, name, node.tell)
        self._hosts: dict[str, tuple[JobSpec, int]] = {}  # recipes read here, by how many jobs
        self._trust, self._worth = Trust(), Worth()
        self._up_at: dict[str, float] = {}  # by node: when the link to it is there
        self._outbox: dict[tuple[str, bool], list[tuple[Prepare, int]]] = {}
        self._from: dict[int, str] = {}  # the node that a sample comes from
        self._asked: dict[str, int] = {}  # rows that each node was asked for and has not answered
        self._apart: set[int] = set()  # came without a slot
        self._recipe_of: dict[int, str] = {}  # of samples that workers here make
        self._compared_here: dict[int, tuple[str, str, int]] = {}
        self._halves: set[tuple[str, str, int]] = set()  # what one side has said
        self._said: dict[str, Clocks] = {}  # by node
        self._heard: dict[str, object] = {}  # by recipe: what the engine was told last

    def meet(self, others: Iterable["Neighbors"]) -> None:
        """Get to know all nodes, this one among them."""
        self._others = {one.name: one for one in others if one is not self}
        if self._others:
            self._tick()

    # Jobs come and go.

    def stream(self, recipe: str) -> int:
        """Return where the orders of a recipe start on all nodes; 0 if this node is alone."""
        return stream_of(recipe) if self._others else 0

    def joined(self, spec: JobSpec) -> None:
        """Note that a job of this node reads a recipe."""
        _, jobs = self._hosts.get(spec.dataset, (spec, 0))
        self._hosts[spec.dataset] = spec, jobs + 1
        self._heard.pop(spec.dataset, None)
        if self._others:
            self.hear(spec.dataset)

    def left(self, spec: JobSpec) -> None:
        """Note that it has left: without jobs a node is nobody's home."""
        _, jobs = self._hosts.pop(spec.dataset)
        if jobs > 1:
            self._hosts[spec.dataset] = spec, jobs - 1
        else:
            self.guests.leave(spec.dataset)

    # Orders.

    def take(self, order: Prepare) -> Prepare | None:
        """Take what other nodes are asked for; return the rest, for the workers here."""
        able = {name for name, one in self._others.items() if order.recipe in one._hosts}
        if not able or order.job >= FIRST_GUEST:
            return self._here(order)
        names = sorted([self.name, *self._others])
        cluster = [placement.Node(name, self._machine.cores) for name in names]
        latest = self._node.clocks()[order.recipe][1]
        salt = max(0, latest - 1) // SALT_EVERY
        spec, _ = self._hosts[order.recipe]
        here = dict(enumerate(order.rows))
        homes = placement.homes(order.rows, cluster, able | {self.name}, salt).tolist()
        for place, (row, home) in enumerate(zip(order.rows, homes, strict=True)):
            name, sample = names[home], order.samples[place]
            if name == self.name or not self._is_up(name):
                continue
            word = self._trust.next(order.recipe, name, spec.rows)
            if word == "compare":
                key = name, order.recipe, row
                if key in self._halves or sample in self._compared_here:
                    self._trust.not_compared(order.recipe, name)
                    continue
                self._compared_here[sample] = key
                self._outbox.setdefault((name, True), []).append((order, place))
            elif word == "fetch" and self._pays(order.recipe, name):
                self._outbox.setdefault((name, False), []).append((order, place))
                self._from[sample] = name
                del here[place]
        return self._here(part_of(order, here)) if here else None

    def _is_up(self, name: str) -> bool:
        """Tell whether a node is connected to; else it will be."""
        return self._clock.now >= self._up_at.setdefault(name, self._clock.now + CONNECT_S)

    def _pays(self, recipe: str, name: str) -> bool:
        return self._worth.pays(recipe, name, self._from.values(), self._machine.cores)

    def _here(self, order: Prepare) -> Prepare:
        self._recipe_of.update(dict.fromkeys(order.samples, order.recipe))
        return order

    def flush(self) -> None:
        """Ask for all that was taken in this turn."""
        outbox, self._outbox = self._outbox, {}
        for (name, digests), wanted in outbox.items():
            orders = {id(order): order for order, _ in wanted}
            for order in orders.values():
                places = [place for whose, place in wanted if whose is order]
                for start in range(0, len(places), MOST_ROWS):
                    self._ask(name, Ask(order, places[start : start + MOST_ROWS], digests))

    def _ask(self, name: str, ask: Ask) -> None:
        rows = self._asked[name] = self._asked.get(name, 0) + len(ask.places)
        patience_s = self._worth.patience_s(ask.order.recipe, rows)
        home = self._others[name]
        self._clock.after(NETWORK_S, lambda: home._asked_for(self, ask, patience_s))

    def _asked_for(self, asker: "Neighbors", ask: Ask, patience_s: float) -> None:
        spec, _ = self._hosts.get(ask.order.recipe, (None, 0))
        self.guests.asked_for(spec, asker, ask, patience_s)

    # What comes.

    def came(self, home: str, ask: Ask) -> None:
        """Take in what a home has sent."""
        self._asked[home] -= len(ask.places)
        spec, _ = self._hosts.get(ask.order.recipe, (None, 0))
        if spec is None:
            return  # its jobs have left meanwhile
        if ask.digests:
            for row in ask.rows:
                self._half((home, ask.order.recipe, row))
            return
        size = int(1000 * spec.sample_kb)
        self._worth.came(home, self._machine.network_mb_per_s * 1e6)
        self.counts.fetched += len(ask.places)
        ready = []
        for place in ask.places:
            sample = ask.order.samples[place]
            if ask.order.offsets[place] < 0 or size > ask.order.sizes[place]:
                self._apart.add(sample)
                self._node.tell(Sized((sample,), (size,)))
            else:
                ready.append((sample, ask.order.offsets[place]))
        self._ready(ready, size)

    def _ready(self, samples: list[tuple[int, int]], size: int) -> None:
        if not samples:
            return
        ready = tuple([sample for sample, _ in samples])
        self._node.tell(Prepared(ready, (size,), copied=True))
        for sample, offset in samples:
            self._from.pop(sample, None)
            self._node.brought(sample, offset)

    def place(self, message: Place) -> Place | None:
        """Write what came without a slot to its place; return the rest, which workers have."""
        each = list(zip(message.samples, message.offsets, message.sizes, strict=True))
        rest = [one for one in each if one[0] not in self._apart]
        for sample, offset, size in each:
            if sample in self._apart:
                self._apart.remove(sample)
                # Not at once: what was said in the same turn takes it for not ready yet.
                self._clock.after(0.0, self._later(sample, offset, size))
        return Place(*zip(*rest, strict=True)) if rest else None

    def _later(self, sample: int, offset: int, size: int) -> Callable[[], None]:
        return lambda: self._ready([(sample, offset)], size)

    def drop(self, samples: Iterable[int]) -> None:
        """Forget what nobody wants any more."""
        for sample in samples:
            self._apart.discard(sample)
            self._from.pop(sample, None)

    def not_sent(self, home: str, ask: Ask) -> None:
        """Have done here what a home did not send."""
        self._asked[home] -= len(ask.places)
        if ask.digests:
            for row in ask.rows:
                self._trust.not_compared(ask.order.recipe, home)
                self._halves.discard((home, ask.order.recipe, row))
            return
        self.counts.not_sent += len(ask.places)
        for place in ask.places:
            self._from.pop(ask.order.samples[place], None)
        self._node.do_here(self._here(ask.part()))

    # Comparing.

    def prepared_here(self, report: Prepared) -> None:
        """Take in what workers of this node have prepared."""
        recipes = [self._recipe_of.pop(sample, "") for sample in report.samples]
        self.counts.prepared += len(recipes) - recipes.count("")
        if report.seconds > 0.0 and recipes[0]:
            size = sum(report.size_of_each) / len(recipes)
            self._worth.prepared(recipes[0], report.seconds / len(recipes), size)
        for sample in report.samples if self._compared_here else ():
            key = self._compared_here.pop(sample, None)
            if key is not None:
                self._half(key)

    def _half(self, key: tuple[str, str, int]) -> None:
        if key not in self._halves:
            self._halves.add(key)
            return
        self._halves.remove(key)
        self.counts.compared += 1
        self._trust.compared(key[1], key[0], same=True)

    # Orders that all nodes share.

    def _tick(self) -> None:
        """Say how far jobs here have read, now and again and again."""
        self._clock.after(TICK_S, self._tick)
        said = {recipe: one for recipe, one in self._node.clocks().items() if recipe in self._hosts}
        for other in self._others.values():
            self._clock.after(NETWORK_S, other._hears(self.name, said))

    def _hears(self, name: str, said: Clocks) -> Callable[[], None]:
        def hear() -> None:
            self._said[name] = said
            for recipe in self._hosts:
                self.hear(recipe)

        return hear

    def hear(self, recipe: str) -> None:
        """Tell the engine how far other nodes are in a recipe that is read here."""
        each = [said[recipe] for said in self._said.values() if recipe in said]
        clocks = tuple(clock for _, _, mine in each for clock in mine)
        if self._heard.get(recipe) != clocks:
            self._heard[recipe] = clocks
            self._node.tell(Hear(recipe, self.stream(recipe), clocks))
