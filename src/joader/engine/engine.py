"""What to do now: one event in, instructions out.

The engine draws jointly (`planner.py`), lets jobs ask for what is planned (`supply.py`) and
delivers it. It knows no clock, process, socket or file; equal events give equal instructions.
Every `Want` is answered by one `Deliver`, unless the job is refused or begins another pass first.

A job whose share (a batch in hand and one in preparation) does not fit next to the shares of the
jobs admitted before it is refused, with the bytes needed, as soon as the size of its samples is
known. An event that raises changes nothing.
"""

from collections.abc import Callable
from typing import Any

from joader.cache import Cache, ExpectedUse, MakePolicy
from joader.engine.admission import Inspection, admit, check_join, check_want
from joader.engine.couplings import Couplings
from joader.engine.deliveries import Deliveries
from joader.engine.forecast import Forecast
from joader.engine.inheritance import Inheritance
from joader.engine.last_resort import LastResort
from joader.engine.limits import Limits
from joader.engine.plan import Told, plan_of
from joader.engine.planner import Planner
from joader.engine.preparations import Preparations
from joader.engine.raw_forms import RawForms
from joader.engine.reader import Reader, Terms
from joader.engine.recipes import Recipe, Recipes
from joader.engine.room import Room
from joader.engine.samplers import MakeSampler, sampler_of
from joader.engine.stock import Stock
from joader.engine.supply import Supply
from joader.engine.teams import Teams
from joader.errors import BadArgument, JobExists, UnknownJob
from joader.messages import (
    Begin,
    Compared,
    Event,
    Failed,
    Hear,
    Inspect,
    Instruction,
    Job,
    Join,
    Know,
    LastCopies,
    Late,
    Leave,
    Lost,
    Moved,
    Prepared,
    Reassign,
    Refuse,
    Release,
    Sized,
    Want,
)
from joader.sampling.generation import Clock
from joader.sampling.job_rows import JobRows
from joader.statistics import EngineStatistics


class Engine:
    """All jobs of one node."""

    def __init__(
        self,
        capacity_bytes: int,
        seed: int = 0,
        policy: MakePolicy = ExpectedUse,
        limits: Limits | None = None,
        make_sampler: MakeSampler = sampler_of,
        life: int = 0,
    ) -> None:
        """Start without jobs; the daemon gives seed and life, the simulator all the rest.

        `life` identifies this engine: a job that resumes says in which life it drew.
        """
        self.life = life
        self._cache = Cache(capacity_bytes, policy)
        self._limits = limits or Limits()
        self._readers: dict[Job, Reader] = {}
        self._joins = 0
        self._recipes = Recipes(seed, make_sampler)
        self._out: list[Instruction] = []
        self.refuses = False  # a job was refused, and is known no more; `say` tells
        self._stock = Stock(self._cache, self._readers, self._out)
        self._room = Room(self._stock)
        self._raws = RawForms(self._stock)
        self._supply = Supply(self._stock, self._room, self._raws)
        self._preparations = Preparations(self._stock, self._room, self._raws)
        self._teams = Teams()
        self._deliveries = Deliveries(self._stock, self._supply, self._teams)
        self._inspection = Inspection(self._stock)
        self.inheritance = Inheritance(self._stock, self._recipes)
        self._last_resort = LastResort(self._supply, self._stock, self._room, self._preparations)
        self._planner = Planner(self._cache)
        self.couplings = Couplings(self._readers, self._planner, self._room)
        self._forecast = Forecast()
        self._cache.demand.forecast = self._forecast
        self._handlers: dict[type, Callable[[Any], None]] = {
            Join: self._join,
            Begin: self._begin,
            Want: self._want,
            Know: self._know,
            Prepared: self._prepared,
            Sized: self._sized,
            Failed: lambda event: self._preparations.failed(event.sample, event.reason),
            Lost: lambda e: self._preparations.lost(e.samples, e.reason, e.blamed),
            Late: lambda event: self._preparations.late(event.samples),
            Inspect: lambda event: self._inspection.begin(self._reader(event.job)),
            Compared: self._compared,
            Release: self._release,
            Leave: self._leave,
            Hear: self._recipes.hear,
            Reassign: lambda event: self._teams.reassign(event.job, event.version),
            LastCopies: lambda _: self._cache.table.copied.all.fill(0),
            **self.couplings.handlers,
            Moved: lambda event: self._cache.table.copied.all.put(event.samples, 1),
        }

    def handle(self, *events: Event) -> list[Instruction]:
        """Take in the events of one moment and return instructions, in order.

        If one of several events raises, those before it have been taken in; the instructions that
        follow from them come with the next call.
        """
        for event in events:
            self.take(event)
        return self.say()

    def take(self, event: Event) -> None:
        """Take in an event; `say` returns the instructions, once for many events."""
        self._handlers[type(event)](event)

    def say(self) -> list[Instruction]:
        """Return the instructions that are due, in order."""
        self._pump()
        self.refuses = False
        return self._stock.say()

    def statistics(self) -> EngineStatistics:
        """Return what jobs got so far, and how much memory that takes."""
        return EngineStatistics(
            jobs={job: reader.statistics() for job, reader in self._readers.items()},
            memory=self._cache.statistics(),
            wasted=self._cache.wasted,
            flow={job: reader.flow() for job, reader in self._readers.items()},
            taken_from={job: dict(reader.taken_from) for job, reader in self._readers.items()},
            raw=self._raws.statistics(),
        )

    def rows_of(self, job: Job) -> JobRows:
        """Return the rows of its recipe that a job reads, by position."""
        return self._reader(job).rows

    def row_of(self, job: Job, sample: int) -> int:
        """Return the row of a job's recipe that a sample is of."""
        return self._stock.table.home.cells[sample] - self._reader(job).recipe.base

    def offset_of(self, sample: int) -> int:
        """Return where the slot of a sample is."""
        return int(self._stock.table.offset.cells[sample])

    def holds(self, job: Job) -> bool:
        """Tell whether a job has samples that it has not released."""
        return job in self._readers and self._readers[job].window.held_count > 0

    def waits_for(self, job: Job) -> tuple[int, int] | None:
        """Return the sample, and its row, that a job's next batch waits for, if it is known."""
        reader = self._reader(job)
        for position, sample in zip(reader.window.places, reader.window.samples, strict=False):
            if position in reader.window.unready:
                return self._stock.waits_for(sample)
        return None

    def waits_for_ranks(self, job: Job) -> tuple[str, bool]:
        """Say which ranks a rank's pass waits for, if any, and whether all are here."""
        place = self._teams.find(job)
        return (place[0].waits_for(place[1]), place[0].all_here()) if place else ("", False)

    def is_own(self, sample: int) -> bool:
        """Tell whether a sample is a job's own part of another."""
        return self._stock.is_own(sample)

    def has_recipe(self, name: str) -> bool:
        """Tell whether a recipe is open: jobs read it, or samples of it are still here."""
        return self._recipes.has(name)

    def clocks(self) -> dict[str, tuple[int, int, list[Clock]]]:
        """Return stream, latest generation and local clocks of each recipe of a cluster."""
        return self._recipes.clocks()

    @property
    def reached_bytes(self) -> int:
        """How far from its start memory was ever used."""
        return self._cache.reached_bytes

    @property
    def pinned_bytes(self) -> int:
        """Bytes of samples that are leased or in preparation."""
        return self._cache.pinned_bytes

    def _reader(self, job: Job) -> Reader:
        if job not in self._readers:
            raise UnknownJob(f"job {job} has not joined, or has left")
        return self._readers[job]

    # Jobs come and go.

    def _join(self, event: Join) -> None:
        if event.job in self._readers:
            raise JobExists(f"job {event.job} has joined already")
        check_join(event, self._limits, self._cache)
        rows = self._teams.rows_of(event) or JobRows(event.rows, event.row_limit)
        recipe = self._recipes.open(event.recipe, event.row_limit, event.stream, event.stored)
        self._raws.enter(recipe)
        self._joins += 1
        reads_for = event.reads_for or event.team or f"join {self._joins}"

        def reader(job: Job, batch_size: int, told: bool) -> Reader:
            return Reader(
                job=job,
                recipe=recipe,
                rows=rows,
                batch_size=batch_size,
                limits=self._limits,
                plan=Told(job, rows, needs=not event.team)
                if told
                else plan_of(event, job, rows, recipe.samplers, reads_for),
                terms=Terms.of(event, reads_for),
            )

        new = reader(event.job, event.batch_size, bool(event.team) or event.order == "told")
        if event.team:
            step_size = event.batch_size * event.world_size
            try:
                self._teams.join(event, new, lambda lead: reader(lead, step_size, False))
            except BadArgument:
                if not recipe.in_use:
                    self._raws.leave(recipe)
                    self._recipes.close(recipe)
                raise
            new.lead = self._teams.lead_of(event.job)
        recipe.readers += 1
        recipe.fresh_readers += event.fresh
        self._readers[event.job] = new
        self.couplings.joined(new)
        self._admit(recipe)

    def _admit(self, recipe: Recipe) -> None:
        """Admit the recipe's new jobs once their samples' size is known, or refuse them."""
        for reader, refused in admit(recipe, self._readers, self._cache.capacity_bytes):
            if refused:
                self._refuse(reader, refused)
            else:
                self._recipes.set_reach(self._cache.capacity_bytes)

    def _refuse(self, reader: Reader, reason: str) -> None:
        self._out.append(Refuse(reason, reader.job))
        self.refuses = True
        self._leave(Leave(reader.job))

    def _begin(self, event: Begin) -> None:
        reader = self._reader(event.job)
        place = self._teams.find(event.job)
        (place[0].lead if place else reader).check_begin(event.epoch, event.done)
        together = place[0].begin(place[1], event) if place else None
        if reader.key != event.key:
            self._supply.forget_pass(reader.key)
        self._begin_pass(reader, event)
        if place and together:
            self._begin_pass(place[0].lead, together)
            for number, rank in place[0].ranks.items():
                if place[0].in_pass(number):
                    rank.plan.key = together.key

    def _begin_pass(self, reader: Reader, event: Begin) -> None:
        self._room.give_up_all(reader)
        reader.window.forget_plan()
        if reader.in_pass:
            self._cache.end(reader.job)
            reader.window.drop_wants()
            if reader.lead is not None:
                self._teams.forget_wants(reader.job)
        else:
            self._planner.plan_again(reader, self._drawers(), self._room)
        reader.epoch = event.epoch
        reader.stuck = False
        self._recipes.set_reach(self._cache.capacity_bytes)
        behind = self._planner.behind(reader, self._drawers())
        numbers = reader.plan.begin(event, self.life, behind)
        if reader.lead is not None or reader.terms.elsewhere or reader.terms.remote:
            numbers = numbers[:0]  # the lead needs them instead, or no job here does
        self._cache.begin(
            reader.job,
            reader.rows.samples(reader.recipe.base, numbers),
            ordered=self._forecast.enter(reader),
        )
        reader.in_pass = True

    def _drawers(self) -> list[Reader]:
        """Return all readers whose passes are drawn: jobs, and leads of teams."""
        return [one for one in self._readers.values() if one.draws] + self._teams.leads

    def _leave(self, event: Leave) -> None:
        reader = self._reader(event.job)
        self._room.give_up_all(reader)
        self._inspection.give_up(reader)
        self._deliveries.release_all(reader)
        if reader.in_pass:
            self._end_passes(reader)
        del self._readers[reader.job]
        self._supply.forget_pass(reader.key)
        reader.recipe.readers -= 1
        reader.recipe.fresh_readers -= reader.terms.fresh
        if reader.lead is not None:
            lead = self._teams.leave(reader.job)
            if lead is not None and lead.in_pass:
                self._end_passes(lead)

    def _end_passes(self, reader: Reader) -> None:
        reader.plan.end()
        self._cache.leave(reader.job)
        self._forecast.leave(reader)

    # What workers report.

    def _prepared(self, event: Prepared) -> None:
        for recipe in self._preparations.prepared(event):
            self._admit(recipe)

    def _sized(self, event: Sized) -> None:
        sized = self._preparations.sized
        for recipe in {id(one): one for one in map(sized, event.samples, event.sizes)}.values():
            self._admit(recipe)

    # Jobs of one recipe that first meet.

    def _compared(self, event: Compared) -> None:
        if event.job in self._readers:
            self._inspection.end(self._readers[event.job], event.sample)

    # What jobs want and give back.

    def _want(self, event: Want) -> None:
        reader = self._reader(event.job)
        check_want(event, reader)
        if reader.lead is not None:
            self._teams.want(event.job, event.now)
            return
        if reader.terms.remote:
            self.couplings.want(event)
            return
        if event.positions is not None and isinstance(reader.plan, Told):
            reader.tell(event.positions, event.times)
            self._deliveries.note_read_by_others(reader, event.others)
        reader.note_want(event.count, event.now)

    def _know(self, event: Know) -> None:
        if self._reader(event.job).lead is None:
            raise BadArgument(f"job {event.job} is not a rank; nothing was announced to it")
        self._teams.know(event.job, event.count)

    def _release(self, event: Release) -> None:
        reader = self._reader(event.job)
        if event.samples.size > reader.window.held_count:
            raise BadArgument(
                f"job {event.job} releases {event.samples.size} samples and holds "
                f"{reader.window.held_count}; release each once"
            )
        self._deliveries.release(reader, event.samples.tolist())

    # Until nothing moves. It ends: only deliveries, which are finite, cause another round.

    def _pump(self) -> None:
        moving = True
        self._preparations.prepare_again()
        while moving:
            self._preparations.place()
            for recipe in self._recipes.to_be_closed(self._stock.keeps):
                self._stock.drop_all(recipe)
                self._raws.leave(recipe)
                self._recipes.close(recipe)
            self._planner.limit_look_ahead(self._readers.values(), self._limits)
            self._planner.top_up(self._drawers())
            self.couplings.say(self._out)
            self._out += self._teams.announcements()
            for reader, reason in self._teams.hand_out(self._out):
                self._refuse(reader, reason)
            self._supply.ask_in_turns()
            moving = self._deliveries.hand_out() or self._unstick()

    def _unstick(self) -> bool:
        served, refused = self._last_resort.serve_one()
        if refused is not None:
            self._refuse(*refused)
        return served
