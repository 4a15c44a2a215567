"""One job that reads pass after pass, and what its workers spend on reading and preparing rows."""

from collections import deque

import numpy as np

from joader.cache.two_forms import Costs
from joader.engine import Engine
from joader.messages import (
    Begin,
    Deliver,
    Drop,
    Event,
    Instruction,
    Join,
    Place,
    Prepare,
    Prepared,
    Release,
    Sized,
    Want,
)
from joader.schedule.work.orders import rows_of

BATCH = 4


class Kitchen:
    """An engine, a worker that does all rows in order, and jobs that never wait for anything else.

    Time is what the worker spends.
    """

    def __init__(self, memory_bytes: int, costs: Costs, rows: int) -> None:
        self.engine = Engine(memory_bytes, seed=1)
        self.costs, self.rows = costs, rows
        self.now = self.spent_s = 0.0
        self.read = self.from_raw = 0
        self._todo: deque[Event] = deque()
        self._delivered = 0
        self._key = 0

    def join(self, job: int, recipe: str, order: str = "shared", stored: str = "stored") -> None:
        rows = np.arange(self.rows)
        join = Join(job, recipe, rows, self.rows, BATCH, order=order, seed=1, stored=stored)
        self.tell(join)

    def passes(self, job: int, count: int, first: int = 0) -> float:
        """Have a job read so many passes; return what was spent per row."""
        before = self.spent_s
        for epoch in range(first, first + count):
            self._key += 1
            self.tell(Begin(job, epoch, key=self._key))
            for _ in range(-(-self.rows // BATCH)):
                self.tell(Want(job, BATCH, self.now))
                self.work()
        return (self.spent_s - before) / (count * self.rows)

    def work(self) -> None:
        while self._todo:
            event = self._todo.popleft()
            if isinstance(event, Prepared):
                self.spent_s += event.seconds
                self.now += event.seconds
            self.tell(event)

    def tell(self, event: Event) -> None:
        for instruction in self.engine.handle(event):
            self._carry_out(instruction)

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Prepare():
                for row in rows_of(instruction):
                    reads = row.raw_offset < 0
                    self.read += reads
                    self.from_raw += not reads
                    size = self.costs.prepared_bytes
                    if row.offset < 0:
                        self._todo.append(Sized((row.sample,), (size,)))
                        continue
                    read_s = self.costs.read_s if reads else 0.0
                    self._todo.append(
                        Prepared(
                            (row.sample,),
                            (size,),
                            seconds=read_s + self.costs.prepare_s,
                            read_s=read_s,
                            reads=int(reads),
                            raw_sizes=(self.costs.raw_bytes,) if row.keeps_raw else (),
                        )
                    )
            case Place():
                for sample, size in zip(instruction.samples, instruction.sizes, strict=True):
                    self._todo.append(Prepared((sample,), (size,)))
            case Drop():
                gone = set(instruction.samples)
                self._todo = deque(e for e in self._todo if not gone & set(_samples(e)))
            case Deliver():
                self._todo.append(Release(instruction.job, instruction.samples))


def _samples(event: Event) -> tuple[int, ...]:
    return event.samples if isinstance(event, Prepared | Sized) else ()
