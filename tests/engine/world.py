"""A world for the engine: carries its instructions out on paper, and watches that they are sane.

Workers finish in any order the test chooses; slots are really written (with the sample's name), so
that a delivery from a slot somebody else wrote to is noticed. A *late* worker does not answer: its
slots are its own until it does, or is dead.
"""

from collections.abc import Callable, Iterable
from itertools import count
from typing import NamedTuple

import numpy as np
from msgspec.structs import astuple, replace

from joader.engine import Engine, Limits
from joader.messages import (
    Begin,
    Deliver,
    Drop,
    Event,
    Failed,
    Finish,
    Forget,
    Instruction,
    Join,
    Late,
    Leave,
    Lost,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Release,
    Sized,
    Want,
)
from joader.sampling import SeededSampler
from joader.schedule.work.orders import Own, Raw, Row, own_parts_of, rows_of

NOTHING = np.empty(0, np.int64)
# The recipe of rows as they are stored, of all that have one.
STORED = "as stored"


class Made(NamedTuple):
    """What lies in a slot."""

    recipe: str
    row: int
    serial: int  # which preparation it is, or was made of
    start: tuple[int, int, int]  # where its random numbers start
    owner: int | None  # the job it is made for, if it is for one alone


class World:
    """An engine, its workers and its jobs, all on paper."""

    row_s = 0.0  # what a row takes to read, and as long to prepare
    from_raw = kept_raw = 0  # rows that were prepared from their raw form; raw forms that had room
    starts_differ = False  # whether nobody may get two fresh samples that start from one place

    def __init__(
        self, capacity_bytes: int, size_of: Callable[[int], int], limits: Limits | None = None
    ) -> None:
        self.engine = Engine(capacity_bytes, seed=5, limits=limits)
        self.limits = limits
        self.capacity = capacity_bytes
        self.size_of = size_of  # by row
        self.to_do: dict[int, Row | Own | Raw] = {}
        self.sized: dict[int, Row | Own | Raw] = {}  # workers that wait for a slot
        self.slots: dict[int, tuple[int, int]] = {}  # sample -> offset, size
        self.late_ones: set[int] = set()  # in the hands of workers that do not answer
        self.bytes: dict[int, Made] = {}  # by offset
        self.ready: set[int] = set()  # samples that are whole
        self.jobs: dict[int, Join] = {}
        self.recipe_of: dict[int, str] = {}  # also of jobs that have left
        self.rows: dict[int, np.ndarray] = {}  # type: ignore[type-arg]
        self.order: dict[int, list[int]] = {}  # of the pass, where the job's order is its own
        self.left: dict[int, set[int]] = {}  # positions of the pass that were not delivered
        self.got: dict[int, list[int]] = {}
        self.failed: dict[int, list[int]] = {}
        self.held: dict[int, list[np.ndarray]] = {}  # type: ignore[type-arg]
        self.wants: dict[int, list[int]] = {}
        self.absent: dict[int, list[int]] = {}  # positions that a job reads by itself
        # Fresh preparations, and where they start, that jobs had, by whom they read for
        self.had: dict[str, set[int]] = {}
        self.starts: dict[str, set[tuple[int, int, int]]] = {}
        self.random: set[str] = set()  # recipes with random code, until nobody uses them
        self.vouched: set[str] = set()  # recipes that are not random for some of their jobs
        self.refused: dict[int, str] = {}
        self.unread: list[int] = []  # own parts that went with a job that was refused
        self.prepared = 0
        self.log: list[tuple[Event, list[Instruction]]] = []
        self._serial, self._keys, self._newcomers = count(), count(1), count(1000)

    def tell(self, event: Event) -> list[Instruction]:
        instructions = self.engine.handle(event)
        if isinstance(event, Join):
            self.recipe_of[event.job] = event.recipe
            (self.random if event.fresh else self.vouched).add(event.recipe)
        self.log.append((event, instructions))
        for instruction in instructions:
            self.carry_out(instruction)
        self.tell_unread()
        assert self.engine.pinned_bytes <= self.engine._cache.used_bytes <= self.capacity
        self.check_what_stays()
        return instructions

    def check_what_stays(self) -> None:
        """See that what random code alone prepared is gone with its last job; all else may stay."""
        here = {self.bytes[self.slots[sample][0]].recipe for sample in self.ready}
        orders = (*self.to_do.values(), *self.sized.values())
        used = {job.recipe for job in self.jobs.values()}
        used |= {self.recipe_of[order.job] for order in orders}
        assert not (here & (self.random - self.vouched)) - used
        assert all(map(self.engine.has_recipe, here))
        self.random &= used
        self.vouched &= used | here

    def carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Prepare():
                self.take(*rows_of(instruction))
            case Finish():
                self.take(*own_parts_of(instruction))
            case Drop():
                for sample in instruction.samples:
                    waits = [o for o in self.to_do.values() if isinstance(o, Own)]
                    never_came = [o.sample for o in waits if o.source == sample]
                    assert sample in self.sized or never_came
                    for one in (sample, *never_came):
                        self.drop_with_followers(one)
            case Place():
                for sample, offset, size in zip(*astuple(instruction), strict=True):
                    order = self.sized.pop(sample)
                    self.occupy(sample, offset, size)
                    self.to_do[sample] = replace(order, offset=offset, size_bytes=size)
            case Deliver():
                self.receive(instruction)
            case Refuse():
                self.refused[instruction.job] = instruction.reason
                self.leave_unread(instruction.job)
                self.forget_job(instruction.job)
            case Forget():
                for sample in instruction.samples:
                    assert sample not in self.to_do
                    self.ready.remove(sample)
                    assert not any(sample in batch for held in self.held.values() for batch in held)
                    self.slots.pop(sample)

    def take(self, *orders: Row | Own) -> None:
        for order in orders:
            assert order.sample not in self.to_do
            self.to_do[order.sample] = order
            if order.offset >= 0:
                self.occupy(order.sample, order.offset, order.size_bytes)

    def occupy(self, sample: int, offset: int, size: int) -> None:
        self.slots.pop(sample, None)
        for other, (start, length) in self.slots.items():
            assert start + length <= offset or offset + size <= start, (sample, other)
        assert offset % 64 == 0
        assert offset + size <= self.capacity
        self.slots[sample] = (offset, size)

    def receive(self, delivery: Deliver) -> None:
        job = delivery.job
        spec = self.jobs[job]
        positions = delivery.positions.tolist()
        bad = [position for position, _ in delivery.failed]
        missing = [positions[place] for place in delivery.absent.tolist()]
        assert spec.reads_itself or not missing
        for position, sample, offset in zip(
            [position for position in positions if position not in (*bad, *missing)],
            delivery.samples.tolist(),
            delivery.offsets.tolist(),
            strict=True,
        ):
            assert self.slots[sample][0] == offset
            assert sample in self.ready
            made = self.bytes[offset]
            assert (made.recipe, made.row) == (spec.recipe, spec.rows[position])
            assert made.owner == (job if spec.own and not spec.reads_itself else None)
            if spec.fresh:
                had, starts = self.had_by(job)
                assert made.serial not in had
                assert made.start not in starts or not self.starts_differ
                had.add(made.serial)
                starts.add(made.start)
        self.check_that_nobody_has(spec, missing)
        self.absent[job] += missing
        wanted = self.wants[job].pop(0)
        assert len(set(positions)) == len(positions) == min(wanted, len(self.left[job]))
        assert set(positions) <= self.left[job]
        self.left[job] -= set(positions)
        if spec.order not in ("shared", "joint"):
            expected, self.order[job] = (
                self.order[job][: len(positions)],
                self.order[job][len(positions) :],
            )
            assert expected == positions
        self.got[job] += positions
        self.failed[job] += bad
        if delivery.samples.size:
            self.held[job].append(delivery.samples)

    def had_by(self, job: int) -> tuple[set[int], set[tuple[int, int, int]]]:
        """Return what those had that a job reads for, and where that started."""
        whom = self.jobs[job].reads_for or f"job {job}"
        return self.had.setdefault(whom, set()), self.starts.setdefault(whom, set())

    def check_that_nobody_has(self, spec: Join, positions: list[int]) -> None:
        """See that what a job is to read by itself is not here in a form it may have."""
        if spec.fresh and (spec.order == "seeded" or spec.reads_for):
            return  # its random numbers are its own; another of its loader may have asked for it
        base = self.engine._readers[spec.job].recipe.base
        for position in positions:
            sample = self.engine._stock.table.first.get(base + int(spec.rows[position]))
            if sample in self.ready:
                assert spec.fresh
                assert self.bytes[self.slots[sample][0]].serial in self.had_by(spec.job)[0]

    def join(self, join: Join) -> None:
        self.jobs[join.job] = join
        self.rows[join.job] = join.rows
        self.got[join.job], self.failed[join.job], self.held[join.job] = [], [], []
        self.wants[join.job], self.absent[join.job] = [], []
        self.tell(join)

    def begin(self, job: int, epoch: int = 0, done: np.ndarray = NOTHING) -> None:  # type: ignore[type-arg]
        self.got[job], self.failed[job], self.wants[job] = done.tolist(), [], []
        self.left[job] = set(range(self.rows[job].size)) - set(done.tolist())
        self.order[job] = [p for p in self.own_order(job, epoch) if p in self.left[job]]
        self.tell(Begin(job, epoch, done, key=next(self._keys)))

    def own_order(self, job: int, epoch: int) -> list[int]:
        """Return the positions in the order of a whole pass, if it does not depend on others."""
        spec, positions = self.jobs[job], list(range(self.rows[job].size))
        if spec.order != "seeded":
            return positions
        rows = spec.rows.tolist()
        number = {row + rows[:p].count(row) * spec.row_limit: p for p, row in enumerate(rows)}
        sampler = SeededSampler(spec.seed)
        sampler.add(job, list(number), epoch)
        return [number[n] for n in sampler.draw({job: len(rows)})[job].tolist()]

    def leave_unread(self, job: int) -> None:
        """Forget own parts of a job that is refused, if they wait for their sources."""
        for sample, order in list(self.to_do.items()):
            waits = isinstance(order, Own) and self.in_hand(order.source)
            if waits and order.job == job and sample not in self.late_ones:
                self.drop_with_followers(sample)
                self.unread.append(sample)

    def tell_unread(self) -> None:
        """Say that nobody will do them: by their numbers, so they must be theirs until then."""
        if self.unread:
            samples, self.unread = tuple(self.unread), []
            self.tell(Lost(samples, "nobody reads it any more", blamed=False))

    def forget_job(self, job: int) -> None:
        for by_job in (self.held, self.rows, self.wants, self.left, self.jobs):
            by_job.pop(job, None)

    def want(self, job: int, count: int, now: float = 0.0) -> None:
        if job in self.wants:
            self.wants[job].append(count)
        self.tell(Want(job, count, now))

    def release(self, job: int, which: int = 0) -> None:
        if self.held[job]:
            self.tell(Release(job, self.held[job].pop(which)))

    def leave(self, job: int) -> None:
        self.forget_job(job)
        self.tell(Leave(job))

    def take_back(self, job: int) -> None:
        """Have the plan of a job taken back: another comes that will draw with it, and goes."""
        spec = self.jobs[job]
        newcomer = replace(spec, job=next(self._newcomers), batch_size=1)
        self.tell(newcomer)
        self.tell(Begin(newcomer.job, key=next(self._keys)))
        self.tell(Leave(newcomer.job))

    def finish(self, sample: int) -> None:
        """Let a worker finish: write to the slot, or say how large the sample is."""
        order = self.to_do[sample]
        raw_sizes = ()
        if isinstance(order, Own) and (self.in_hand(order.source) or order.source in self.coming):
            sample = self.coming.get(order.source, order.source)
            if sample in self.sized:
                return
            order = self.to_do[sample]
        del self.to_do[sample]
        self.late_ones.discard(sample)
        made = self.made_by(order)
        size = self.size_of(made.row + (made.owner is not None))
        if isinstance(order, Raw):
            size = self.raw_size_of(order.row)
        if order.offset < 0 or size > order.size_bytes:
            self.slots.pop(sample, None)
            self.sized[sample] = order
            self.tell(Sized((sample,), (size,)))
        else:
            self.bytes[order.offset] = made
            self.slots[sample] = (order.offset, order.size_bytes)
            self.ready.add(sample)
            self.prepared += isinstance(order, Row)
            times = {}
            if isinstance(order, Row) and self.row_s:
                read_s = self.row_s if order.raw_offset < 0 else 0.0
                times = {
                    "seconds": self.row_s + read_s,
                    "read_s": read_s,
                    "reads": int(read_s > 0.0),
                }
                if order.keeps_raw and self.keeps_raw(order):
                    raw_sizes = (self.raw_size_of(order.row),)
                    self.sized[order.raw] = Raw(order.job, order.raw, order.row)
            self.tell(Prepared((sample,), (size,), **times, raw_sizes=raw_sizes))

    def raw_size_of(self, row: int) -> int:
        return 40 + self.size_of(row + 1) // 2

    def keeps_raw(self, order: Row) -> bool:
        """Tell whether a worker has the raw form of a row: one that another node sends has not."""
        return order.row % 5 != 3

    def check_raw(self, order: Row) -> None:
        """See that what a row is prepared from is its raw form, and stays for so long."""
        assert order.raw in self.ready
        assert self.slots[order.raw][0] == order.raw_offset
        made = self.bytes[order.raw_offset]
        assert made.recipe == STORED
        assert made.row == order.row
        self.from_raw += 1

    def made_by(self, order: Row | Own | Raw) -> Made:
        """Return what a worker makes of an order."""
        if isinstance(order, Raw):
            self.kept_raw += 1
            return Made(STORED, order.row, next(self._serial), (0, 0, 0), None)
        if isinstance(order, Row):
            if order.raw_offset >= 0:
                self.check_raw(order)
            start = (order.key, order.position, order.times)
            owner = order.job if order.whole else None
            return Made(order.recipe, order.row, next(self._serial), start, owner)
        source = self.bytes[self.slots[order.source][0]]
        assert source.owner is None
        return source._replace(owner=order.job)

    @property
    def coming(self) -> dict[int, int]:
        """Raw forms that are to be kept, by the samples that they come with."""
        in_work = [*self.to_do.values(), *self.sized.values()]
        return {o.raw: o.sample for o in in_work if isinstance(o, Row) and o.keeps_raw}

    def in_hand(self, sample: int) -> bool:
        return sample in self.to_do or sample in self.sized

    def drop_with_followers(self, sample: int) -> list[int]:
        """Let go of a sample and of the own parts that wait for it; return them all."""
        gone = [sample]
        if sample in self.to_do or sample in self.sized:
            orders = [*self.to_do.values(), *self.sized.values()]
            gone += [o.sample for o in orders if isinstance(o, Own) and o.source == sample]
        for one in gone:
            self.to_do.pop(one, None)
            self.sized.pop(one, None)
            self.slots.pop(one, None)
            self.late_ones.discard(one)
        return gone

    def fail(self, sample: int) -> None:
        self.drop_with_followers(sample)
        self.tell(Failed(sample, "bad row"))

    def lose(self, samples: Iterable[int]) -> None:
        """Let a worker die that had these samples in hand, some of them waiting for a slot."""
        gone: dict[int, None] = {}
        for sample in samples:
            gone |= dict.fromkeys(self.drop_with_followers(sample))
        self.tell(Lost(tuple(gone), "worker died"))

    def late(self, samples: Iterable[int]) -> None:
        """Let a worker with these samples in hand answer no more, until it is let finish."""
        self.late_ones |= set(samples)
        self.tell_late()

    def tell_late(self) -> None:
        """Say what late workers have, as is done again and again.

        Own parts that wait for it in nobody's hands are forgotten, and told anew in the same slot.
        """
        for own, order in list(self.to_do.items()):
            waits = isinstance(order, Own) and order.source in self.late_ones
            if waits and own not in self.late_ones:
                del self.to_do[own]
                self.slots.pop(own, None)
        self.tell(Late(tuple(self.late_ones)))

    def wake(self) -> None:
        """Let late workers answer again."""
        self.late_ones.clear()

    def work(self) -> None:
        """Let all workers finish that are not late."""
        while ready := [sample for sample in self.to_do if not self.blocked(sample)]:
            for sample in ready:
                if sample in self.to_do and not self.blocked(sample):
                    self.finish(sample)

    def blocked(self, sample: int) -> bool:
        """Tell whether its worker is late, or waits for a slot for the source of the sample."""
        order = self.to_do[sample]
        waits_for = order.source if isinstance(order, Own) else -1
        waits_for = self.coming.get(waits_for, waits_for)
        return waits_for in self.sized or bool({sample, waits_for} & self.late_ones)

    def settle(self) -> None:
        """Let all workers finish and all jobs release, until nothing moves."""
        while not all(map(self.blocked, self.to_do)) or any(self.held.values()):
            self.work()
            for job in list(self.held):
                if job in self.held:
                    self.release(job)
