"""Joint draws over nodes: draws that come from another node, and draws made here for another.

A job of this node may be *coupled*: the rest of its pass is drawn on another node and comes a
window ahead. It can be uncoupled at any time, and then draws here what has not come, so no row is
lost or read twice even if a message is lost.

A job of another node is a reader here, too, which draws in the same ticks as those of this node. It
is *remote*: nothing is prepared for it, and its window is a shadow of the one on its own node:
draws go in, and are sent; what it wants there is taken off. So it is planned for as far ahead as
any job, at its own pace.

Not here: which node draws for which job, and what happens if one is gone (daemon/joint.py).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from joader.engine.plan import Drawn, Lent
from joader.engine.planner import Planner
from joader.engine.reader import Reader
from joader.engine.room import Room
from joader.errors import BadArgument
from joader.messages import Array, Couple, Drew, Instruction, Job, Uncouple, Want
from joader.messages.fields import NONE


class Couplings:
    """All of one engine."""

    def __init__(self, readers: Mapping[Job, Reader], planner: Planner, room: Room) -> None:
        """Know of none."""
        self._readers, self._planner, self._room = readers, planner, room
        self._lent: dict[Job, tuple[Reader, Lent]] = {}
        self.handlers: dict[type, Callable[[Any], None]] = {
            Couple: self._couple,
            Uncouple: self._uncouple,
            Drew: self._drew,
        }

    # Jobs of this node.

    def _couple(self, event: Couple) -> None:
        """Let another node draw for a job: what is planned and not read goes back."""
        reader, plan = self._drawn(event.job)
        if reader.in_pass and not plan.coupled:
            planned = np.array(reader.window.places, np.int64)
            self._room.give_up_all(reader)
            reader.window.forget_plan()
            plan.couple(planned, reader.recipe.samplers.elsewhere)

    def _uncouple(self, event: Uncouple) -> None:
        """Draw for a job here again."""
        reader, plan = self._drawn(event.job)
        if plan.coupled:
            plan.uncouple(reader.epoch)

    def _drew(self, event: Drew) -> None:
        """Plan what was drawn for a job on another node."""
        reader, plan = self._drawn(event.job)
        plan.check_sent(event.numbers)
        reader.drew(event.numbers)
        self._planner.note_come(reader, self._readers.values())

    def is_here(self, job: Job) -> bool:
        """Tell whether a job is here, and draws."""
        return job in self._readers and self._readers[job].draws

    def awaited(self, job: Job) -> Array:
        """Return the numbers that another node has to draw for a job."""
        reader = self._readers.get(job)
        plan = reader.plan if reader is not None else None
        return plan.awaited if isinstance(plan, Drawn) else NONE

    def undrawn(self, job: Job) -> int:
        """Return how much of a job's pass is not drawn yet, here or elsewhere."""
        reader = self._readers.get(job)
        return reader.plan.undrawn if reader is not None and reader.in_pass else 0

    def wants(self, job: Job) -> tuple[int, ...]:
        """Return what a job has asked for and not got, batch by batch."""
        reader = self._readers.get(job)
        return tuple(reader.window.wants) if reader is not None else ()

    def starves(self, job: Job) -> bool:
        """Tell whether a job wants what another node has not drawn yet."""
        reader = self._readers.get(job)
        return reader is not None and reader.starves

    def _drawn(self, job: Job) -> tuple[Reader, Drawn]:
        reader = self._readers.get(job)
        if reader is None or not isinstance(reader.plan, Drawn):
            raise BadArgument(f"job {job} is not here, or is told what to read")
        return reader, reader.plan

    # Jobs of other nodes.

    def joined(self, reader: Reader) -> None:
        """Note a reader, if it is a job of another node."""
        if isinstance(reader.plan, Lent):
            self._lent[reader.job] = reader, reader.plan

    def want(self, event: Want) -> None:
        """Note that a job reads `count` samples on its own node."""
        reader, plan = self._lent[event.job]
        reader.note_rate(event.count, event.now)
        plan.wanted += event.count
        _take(reader, plan)

    def say(self, out: list[Instruction]) -> None:
        """Send what was drawn for jobs of other nodes."""
        for job, (reader, plan) in list(self._lent.items()):
            if self._readers.get(job) is not reader:
                del self._lent[job]
            elif plan.to_send:
                out.append(Drew(job, np.concatenate(plan.to_send)))
                plan.to_send.clear()
                _take(reader, plan)


def _take(reader: Reader, plan: Lent) -> None:
    """Take off the window what the job has taken off its own."""
    window = reader.window
    count = min(plan.wanted, len(window.places))
    if count:
        del window.places[:count], window.homes[:count]
        plan.wanted -= count
