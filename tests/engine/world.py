"""A world for the engine: carries its instructions out on paper, and watches that they are sane.

Workers finish in any order the test chooses; slots are really written (with the sample's name), so
that a delivery from a slot somebody else wrote to is noticed.
"""

from collections.abc import Callable, Iterable

import numpy as np

from joader.engine import Engine
from joader.engine.values import (
    Begin,
    Deliver,
    Event,
    Failed,
    Forget,
    Instruction,
    Join,
    Leave,
    Lost,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Release,
    Sized,
    TakeBack,
    Want,
)


class World:
    """An engine, its workers and its jobs, all on paper."""

    def __init__(self, capacity_bytes: int, size_of: Callable[[int], int]) -> None:
        self.engine = Engine(capacity_bytes, seed=5)
        self.capacity = capacity_bytes
        self.size_of = size_of  # by row
        self.to_do: dict[int, Prepare] = {}
        self.sized: dict[int, Prepare] = {}
        self.slots: dict[int, tuple[int, int]] = {}  # sample -> offset, size
        self.bytes: dict[int, tuple[str, int]] = {}  # offset -> recipe and row written there
        self.recipe_of: dict[int, str] = {}
        self.got: dict[int, list[int]] = {}
        self.failed: dict[int, list[int]] = {}
        self.held: dict[int, list[np.ndarray]] = {}  # type: ignore[type-arg]
        self.rows: dict[int, np.ndarray] = {}  # type: ignore[type-arg]
        self.refused: dict[int, str] = {}
        self.prepared = 0
        self.log: list[tuple[Event, list[Instruction]]] = []

    def tell(self, event: Event) -> list[Instruction]:
        instructions = self.engine.handle(event)
        self.log.append((event, instructions))
        for instruction in instructions:
            self.carry_out(instruction)
        assert self.engine._cache.used_bytes <= self.capacity
        return instructions

    def carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Prepare():
                assert instruction.sample not in self.to_do
                self.to_do[instruction.sample] = instruction
                if instruction.offset >= 0:
                    self.occupy(instruction.sample, instruction.offset, instruction.size_bytes)
            case Place():
                order = self.sized.pop(instruction.sample)
                self.occupy(instruction.sample, instruction.offset, instruction.size_bytes)
                self.to_do[instruction.sample] = Prepare(
                    order.sample,
                    order.recipe,
                    order.row,
                    order.job,
                    order.position,
                    instruction.offset,
                    instruction.size_bytes,
                )
            case Deliver():
                self.receive(instruction)
            case Refuse():
                self.refused[instruction.job] = instruction.reason
                self.forget_job(instruction.job)
            case Forget():
                for sample in instruction.samples:
                    assert sample not in self.to_do
                    self.slots.pop(sample)

    def occupy(self, sample: int, offset: int, size: int) -> None:
        self.slots.pop(sample, None)
        for other, (start, length) in self.slots.items():
            assert start + length <= offset or offset + size <= start, (sample, other)
        assert offset % 64 == 0
        assert offset + size <= self.capacity
        self.slots[sample] = (offset, size)

    def receive(self, delivery: Deliver) -> None:
        job = delivery.job
        for position, sample, offset in zip(
            delivery.positions.tolist(),
            delivery.samples.tolist(),
            delivery.offsets.tolist(),
            strict=True,
        ):
            assert self.slots[sample][0] == offset
            assert self.bytes[offset] == (self.recipe_of[job], int(self.rows[job][position]))
            self.got[job].append(position)
        for position, _ in delivery.failed:
            self.got[job].append(position)
            self.failed[job].append(position)
        if delivery.samples.size:
            self.held[job].append(delivery.samples)

    def join(self, join: Join) -> None:
        self.rows[join.job] = join.rows
        self.recipe_of[join.job] = join.recipe
        self.got[join.job], self.failed[join.job], self.held[join.job] = [], [], []
        self.tell(join)

    def begin(self, job: int, epoch: int = 0) -> None:
        self.got[job], self.failed[job] = [], []
        self.tell(Begin(job, epoch))

    def forget_job(self, job: int) -> None:
        self.held.pop(job, None)
        self.rows.pop(job, None)

    def want(self, job: int, count: int, now: float = 0.0) -> None:
        self.tell(Want(job, count, now))

    def release(self, job: int) -> None:
        if self.held[job]:
            self.tell(Release(job, self.held[job].pop(0)))

    def leave(self, job: int) -> None:
        self.forget_job(job)
        self.tell(Leave(job))

    def take_back(self, job: int) -> None:
        self.tell(TakeBack(job))

    def finish(self, sample: int) -> None:
        """Let a worker finish: write to the slot, or say how large the sample is."""
        order = self.to_do.pop(sample)
        size = self.size_of(order.row)
        if order.offset < 0 or size > order.size_bytes:
            self.slots.pop(sample, None)
            self.sized[sample] = order
            self.tell(Sized(sample, size))
        else:
            self.bytes[order.offset] = (order.recipe, order.row)
            self.prepared += 1
            self.tell(Prepared(sample))

    def fail(self, sample: int) -> None:
        self.to_do.pop(sample)
        self.slots.pop(sample, None)
        self.tell(Failed(sample, "bad row"))

    def lose(self, samples: Iterable[int]) -> None:
        gone = tuple(samples)
        for sample in gone:
            self.to_do.pop(sample)
        self.tell(Lost(gone, "worker died"))

    def settle(self) -> None:
        """Let all workers finish and all jobs release, until nothing moves."""
        while self.to_do or any(self.held.values()):
            for sample in list(self.to_do):
                if sample in self.to_do:
                    self.finish(sample)
            for job in list(self.held):
                self.release(job)
