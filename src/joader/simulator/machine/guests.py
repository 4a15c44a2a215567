"""Other nodes that ask this one for rows, as daemon/guests.py has them: jobs that are told them.

A guest is let in at its first question and leaves with the last job here that reads the same
data. Every question is answered once: by what it asked for, or by the word that nothing is sent.
A message takes NETWORK_S; bytes share the link of the node that sends them.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol
from zlib import crc32

import numpy as np

from joader.daemon.guests import REFUSED_S
from joader.messages import Begin, Deliver, Event, Join, Leave, Prepare, Release, Want
from joader.schedule.nodes.worth import MOST_ROWS
from joader.schedule.work.orders import part_of
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.workload import JobSpec, MachineSpec

# A message between two daemons, with a turn of the loop of each.
NETWORK_S = 0.001
FIRST_GUEST = 1 << 20  # jobs have smaller numbers


def stream_of(recipe: str) -> int:
    """Return where the orders of a recipe start on all nodes."""
    return 1 + crc32(recipe.encode())


@dataclass
class Ask:
    """Rows of one order that a home was asked for, by their places in it."""

    order: Prepare
    places: list[int]
    digests: bool
    answered: bool = False

    @property
    def rows(self) -> list[int]:
        """The rows themselves."""
        return [self.order.rows[place] for place in self.places]

    def part(self) -> Prepare:
        """Return the order of these rows alone."""
        return part_of(self.order, {place: self.order.rows[place] for place in self.places})


class Asker(Protocol):
    """The node that asks."""

    name: str

    def came(self, home: str, ask: Ask) -> None:
        """Take in what a home has sent."""

    def not_sent(self, home: str, ask: Ask) -> None:
        """Have done here what a home did not send."""


@dataclass
class _Guest:
    """Another node, as a job that is told row by row what it wants."""

    job: int
    sample_bytes: float
    waiting: deque[tuple[Asker, Ask]] = field(default_factory=deque)


class Guests:
    """All nodes that ask one node for rows."""

    def __init__(
        self, clock: Clock, machine: MachineSpec, name: str, tell: Callable[[Event], None]
    ) -> None:
        """Be asked by nobody yet, with a link of this node's own."""
        self._clock, self._name, self._tell = clock, name, tell
        self._link = Resource(clock, lambda users: machine.network_mb_per_s * 1e6 / users)
        self._guests: dict[tuple[str, str], _Guest] = {}  # by node and recipe
        self._of_job: dict[int, _Guest] = {}
        self._numbers = count(FIRST_GUEST)
        self._refused: dict[str, float] = {}  # recipes, and until when

    def asked_for(self, spec: JobSpec | None, asker: Asker, ask: Ask, patience_s: float) -> None:
        """Have rows prepared for a node, if jobs here read them too (`spec`)."""
        recipe = ask.order.recipe
        if spec is None or self._refused.get(recipe, 0.0) > self._clock.now:
            self._give_up(asker, ask)
            return
        guest = self._guests.get((asker.name, recipe)) or self._let_in(asker.name, spec)
        if guest is None:
            self._give_up(asker, ask)
            return
        guest.waiting.append((asker, ask))
        self._clock.after(patience_s, lambda: self._give_up(asker, ask))
        rows = np.array(ask.rows, np.int64)
        self._tell(Want(guest.job, rows.size, self._clock.now, rows))

    def _let_in(self, name: str, spec: JobSpec) -> _Guest | None:
        guest = self._guests[name, spec.dataset] = _Guest(
            next(self._numbers), 1000.0 * spec.sample_kb
        )
        self._of_job[guest.job] = guest
        self._tell(
            Join(
                *(guest.job, spec.dataset, np.arange(spec.rows), spec.rows, MOST_ROWS),
                order="told",
                elsewhere=True,
                reads_for=f"node {name}",
                stream=stream_of(spec.dataset),
            )
        )
        if not self.has(guest.job):
            return None  # it was refused
        self._tell(Begin(guest.job, key=guest.job))
        return guest

    def refuse(self, job: int) -> None:
        """Let a node do without for a while: there is no room for it here."""
        guest = self._of_job.pop(job)
        key = next(key for key, one in self._guests.items() if one is guest)
        del self._guests[key]
        self._refused[key[1]] = self._clock.now + REFUSED_S
        self._give_up_all(guest)

    def leave(self, recipe: str) -> None:
        """Send away who asks for a recipe that no job reads here any more."""
        for key in [key for key in self._guests if key[1] == recipe]:
            guest = self._guests.pop(key)
            self._give_up_all(guest)
            del self._of_job[guest.job]
            self._tell(Leave(guest.job))

    def has(self, job: int) -> bool:
        """Tell whether a job is another node, and what is delivered to it for `send`."""
        return job in self._of_job

    def send(self, batch: Deliver) -> None:
        """Send what a node has asked for."""
        guest = self._of_job[batch.job]
        asker, ask = guest.waiting.popleft()
        late, ask.answered = ask.answered, True

        def sent() -> None:
            if self.has(batch.job):
                self._tell(Release(batch.job, batch.samples))

        def arrived() -> None:
            sent()
            self._clock.after(NETWORK_S, lambda: asker.came(self._name, ask))

        if late:
            sent()
        elif ask.digests:
            arrived()
        else:
            self._link.use(guest.sample_bytes * batch.samples.size, arrived)

    def _give_up_all(self, guest: _Guest) -> None:
        for asker, ask in guest.waiting:
            self._give_up(asker, ask)

    def _give_up(self, asker: Asker, ask: Ask) -> None:
        if not ask.answered:
            ask.answered = True
            self._clock.after(NETWORK_S, lambda: asker.not_sent(self._name, ask))
