"""The daemon's part on a virtual clock: the real engine and the real schedule, told and obeyed.

What `daemon/daemon.py` and `workers/pool.py` do with sockets and processes is done here with the
clock: messages take MESSAGE_S, workers are born in BIRTH_S. What it has to do with other nodes is
in neighbors.py.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from joader.engine import Engine
from joader.errors import BadArgument
from joader.messages import (
    Compare,
    Deliver,
    Drop,
    Event,
    Finish,
    Forget,
    JobSettings,
    Join,
    Leave,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Want,
)
from joader.schedule.dispatch import Dispatch
from joader.schedule.work.actions import (
    Abandon,
    Action,
    AskForWorker,
    Dismiss,
    Give,
    Lent,
    Seen,
    Tell,
    Warn,
)
from joader.simulator.machine.neighbors import Clocks, Neighbors
from joader.simulator.machine.worker import LAYOUT, Hardware, Worker
from joader.simulator.machine.workload import JobSpec
from joader.workers.pool import WATCH_S

# As measured on a quiet machine: a socket, and a turn of the daemon's loop.
MESSAGE_S = 0.0005
BIRTH_S = 0.02
_NO_GROWTH = 1 << 62


class Node:
    """The daemon of a simulated machine."""

    def __init__(self, hardware: Hardware, memory_bytes: int, seed: int, name: str = "") -> None:
        """Start without jobs."""
        machine = hardware.machine
        self.neighbors = Neighbors(hardware.clock, machine, name, self)
        self._hardware, self._clock = hardware, hardware.clock
        self.engine = Engine(memory_bytes, seed)
        self.dispatch = Dispatch(machine.cores, _NO_GROWTH)
        self.dispatch.set_policy(machine.policy, 0.0)
        self.dispatch.set_ceiling(machine.cpu_part, 0.0)
        self._specs: dict[str, JobSpec] = {}  # by ticket
        self._deliver: dict[int, Callable[[Deliver], None]] = {}
        self._workers: dict[int, Worker] = {}
        self._ready: set[int] = set()  # samples in their slots
        self._doing = self._acting = self._refilling = False
        self.warnings: list[str] = []
        self._watch()

    # Jobs.

    def join(self, number: int, spec: JobSpec, deliver: Callable[[Deliver], None]) -> None:
        """Take a job in, with its nursery."""
        ticket = f"ticket {number}"
        self._specs[ticket], self._deliver[number] = spec, deliver
        settings = JobSettings(spec.name, weight=spec.weight, timeout_s=math.inf)
        self.dispatch.join(number, Lent(ticket, spec.dataset, settings, workers=spec.workers))
        self.dispatch.attend(ticket)
        stream = self.neighbors.stream(spec.dataset)
        self.tell(
            Join(
                *(number, spec.dataset, np.arange(spec.rows), spec.rows, spec.batch),
                own=spec.own_ms > 0,
                seed=None if stream else number,
                stream=stream,
            )
        )
        self.neighbors.joined(spec)

    def said(self, event: Event) -> None:
        """Take in what a job says, when it has come."""
        self._clock.after(MESSAGE_S, lambda: self._from_job(event))

    def _from_job(self, event: Event) -> None:
        now = self._clock.now
        if isinstance(event, Want):
            self.dispatch.wanted(event.job, event.count, event.step_s, event.wait_s, now)
        self.tell(event)
        if isinstance(event, Leave):
            self.dispatch.leave(event.job, now)
            self._act()
            self.neighbors.left(self._specs[f"ticket {event.job}"])

    # The engine.

    def tell(self, event: Event) -> None:
        """Let the engine take an event in; it says what follows at the end of this moment."""
        if isinstance(event, Prepared):
            self._ready.update(event.samples)
        self.engine.take(event)
        if self.engine.refuses:
            self._do()  # the engine has forgotten that job
        elif not self._doing:
            self._doing = True
            self._clock.after(0.0, self._do)

    def _do(self) -> None:
        self._doing = False
        for instruction in self.engine.say():
            match instruction:
                case Prepare():
                    if (here := self.neighbors.take(instruction)) is not None:
                        self.dispatch.prepare(here, here.recipe)
                case Finish():
                    layouts = tuple(
                        LAYOUT if s in self._ready else b"" for s in instruction.sources
                    )
                    self.dispatch.finish(replace(instruction, layouts=layouts), self._clock.now)
                case Place():
                    if (place := self.neighbors.place(instruction)) is not None:
                        self.dispatch.place(place)
                case Drop():
                    self.dispatch.drop(instruction.samples)
                    self.neighbors.drop(instruction.samples)
                case Deliver() if self.neighbors.guests.has(instruction.job):
                    self.neighbors.guests.send(instruction)
                case Deliver():
                    self._hand_over(instruction)
                case Forget():
                    self._ready.difference_update(instruction.samples)
                case Refuse() if self.neighbors.guests.has(instruction.job):
                    self.neighbors.guests.refuse(instruction.job)
                case Refuse():
                    raise BadArgument(f"the daemon would refuse this: {instruction.reason}")
                case Compare():
                    raise AssertionError("simulated jobs are not compared")
        self.neighbors.flush()
        self._feed()

    def do_here(self, order: Prepare) -> None:
        """Have workers of this node prepare rows that another did not send."""
        self.dispatch.prepare(order, order.recipe)
        self._feed()

    def brought(self, sample: int, offset: int) -> None:
        """Note that a sample is in its slot that another node has sent."""
        self.dispatch.brought(sample, offset, LAYOUT)
        self._act()

    def clocks(self) -> Clocks:
        """Return how far all recipes are read here."""
        return self.engine.clocks()

    def _hand_over(self, batch: Deliver) -> None:
        self._clock.after(MESSAGE_S, lambda: self._deliver[batch.job](batch))

    # Workers.

    def _feed(self) -> None:
        self.dispatch.feed(self._clock.now)
        self._act()
        in_s = self.dispatch.feeds_in_s
        if in_s and not self._refilling:
            self._refilling = True
            self._clock.after(in_s, self._feed_again)

    def _feed_again(self) -> None:
        self._refilling = False
        self._feed()

    def _act(self) -> None:
        if self._acting:
            return
        self._acting = True
        while decided := self.dispatch.decided():
            for action in decided:
                self._carry_out(action)
        self._acting = False

    def _carry_out(self, action: Action) -> None:
        match action:
            case Give():
                worker, messages = self._workers.get(action.worker), action.messages
                if worker is not None:
                    self._clock.after(MESSAGE_S, lambda: worker.tell(messages))
            case Tell():
                if isinstance(action.event, Prepared):
                    self.neighbors.prepared_here(action.event)
                self.tell(action.event)
            case AskForWorker():
                ticket, number = action
                self._clock.after(BIRTH_S, lambda: self._bear(ticket, number))
            case Dismiss():
                for id in action.workers:
                    self._ended(id)
            case Warn():
                self.warnings.append(action.text)
            case Abandon():
                raise AssertionError("simulated rows are not abandoned")

    def _bear(self, ticket: str, number: int) -> None:
        if not self.dispatch.expects(ticket, number):
            return
        spec = self._specs[ticket]
        id = self.dispatch.arrived(ticket, number, 0, self._clock.now)
        self._workers[id] = Worker(
            self._hardware,
            spec,
            int(1000 * spec.sample_kb),
            report=lambda messages: self._clock.after(
                MESSAGE_S, lambda: self._reported(id, messages)
            ),
            end=lambda: self._ended(id),
        )
        self._feed()

    def _reported(self, id: int, messages: list[Any]) -> None:
        if id in self._workers:
            self.dispatch.reported(id, messages, self._clock.now)
            self._act()
            self._feed()

    def _ended(self, id: int) -> None:
        if self._workers.pop(id, None) is not None:
            self.dispatch.out_of_reach(id)
            self.dispatch.ended(id, (), "", 0, self._clock.now)
            self._act()

    def _watch(self) -> None:
        self._clock.after(WATCH_S, self._watch)
        seen = {id: Seen((), 1) for id in self._workers}
        own_cpu_s = self._hardware.machine.daemon * self._clock.now
        self.dispatch.look(self._clock.now, seen, self.engine.statistics().jobs, own_cpu_s)
        self._act()
        self._feed()
