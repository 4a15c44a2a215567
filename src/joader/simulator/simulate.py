"""The engine on a virtual clock: a shell that plays the jobs and the workers.

The daemon is the other shell; what is drawn, asked for, prepared, kept and counted is decided by
the same code in both. Here a preparation and a delivery take no time: everything wanted at one
moment is planned first, then prepared, then delivered and released, until nothing is left to do.
Every sample has the same size, so that capacity is a number of samples.

Not modeled: the time that workers, messages and storage take, jobs that wait for them, batches that
wait in a job before it takes them, failures, and samples of different sizes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from joader.cache import MakePolicy
from joader.engine import ON_DEMAND, Engine, Limits
from joader.errors import BadArgument
from joader.messages import (
    Begin,
    Deliver,
    Event,
    Instruction,
    Join,
    Leave,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Release,
    Sized,
    Want,
)
from joader.sampling import Sampler
from joader.sampling.sampler import checked_seed
from joader.simulator.choices import chosen_policy, chosen_sampler
from joader.simulator.job import CheckedJob, Job, checked_jobs
from joader.simulator.timeline import timeline

SAMPLE_BYTES = 64  # the smallest slot


@dataclass(frozen=True)
class JobResult:
    """What a job got: delivered = hits + prepared; `shared` hits were prepared for another."""

    delivered: int
    prepared: int
    hits: int
    shared: int


@dataclass(frozen=True)
class Result(JobResult):
    """The totals, and each job's part in the order the jobs were given."""

    jobs: tuple[JobResult, ...]


def simulate(
    jobs: Iterable[Job],
    sampler: str | Sampler = "dependent",
    policy: str | MakePolicy = "expected",
    capacity: int = 1,
    seed: int = 0,
    batch_size: int = 1,
    limits: Limits = ON_DEMAND,
) -> Result:
    """Run the jobs to their end with room for `capacity` samples and count.

    Sampler and policy are names (SAMPLERS, POLICIES) or objects; an object serves only one run.
    By default there is no look-ahead. `limits=Limits()` is a node as the daemon runs it, with
    shares and look-ahead; the unit of time is then a second, and a job that is refused raises
    BadArgument.
    """
    given = checked_jobs(jobs)
    _check_count(capacity, "capacity")
    _check_count(batch_size, "batch_size")
    seed = checked_seed(seed)
    drawing, order = chosen_sampler(sampler, seed)
    keeping = chosen_policy(policy, seed)
    engine = Engine(
        int(capacity) * SAMPLE_BYTES, seed, keeping, limits, lambda order, seed: drawing
    )
    row_limit = max((int(job.rows.max()) + 1 for job in given if job.rows.size), default=1)
    joins = [
        Join(number, "rows", job.rows, row_limit, int(batch_size), order=order, seed=seed)
        for number, job in enumerate(given)
    ]
    # Without look-ahead only ratios of speeds matter; the engine estimates no pace below 1.
    unit = 1.0 if limits.share_batches else float(min((job.speed for job in given), default=1))
    parts = _play(engine, given, joins, unit)
    return Result(
        sum(part.delivered for part in parts),
        sum(part.prepared for part in parts),
        sum(part.hits for part in parts),
        sum(part.shared for part in parts),
        tuple(parts),
    )


def _play(
    engine: Engine, jobs: Sequence[CheckedJob], joins: Sequence[Join], unit: float
) -> list[JobResult]:
    """Let the jobs come, read and go, each at its time, and return what each got."""
    parts = [JobResult(0, 0, 0, 0)] * len(jobs)
    changes: list[Event] = []  # of the moment before: after the last moment no job needs to leave
    begins: list[Event] = []
    for moment in timeline(jobs, joins[0].batch_size if joins else 1):
        _carry_out(engine, changes)
        _carry_out(engine, begins)
        _carry_out(engine, [Want(job, count, now * unit) for job, count, now in moment.wants])
        got = engine.statistics().jobs if moment.ends else {}
        for job in moment.ends:
            stats = got[job]
            parts[job] = JobResult(stats.delivered, stats.prepared, stats.hits, stats.shared)
        # Together, so that prepared samples are not dropped when one job follows another.
        changes = [Leave(job) for job in moment.ends]
        changes += [joins[job] for job, epoch in moment.begins if not epoch]
        begins = [Begin(job, epoch) for job, epoch in moment.begins]
    return parts


def _carry_out(engine: Engine, events: list[Event]) -> None:
    """Tell the engine what happens at one moment, and do what it says until nothing moves."""
    while events:
        events = [event for said in engine.handle(*events) for event in _done(said)]


def _done(instruction: Instruction) -> Iterator[Event]:
    """Do as a worker or a job does, in no time, and return what it then reports."""
    match instruction:
        case Prepare() | Place():
            each = list(zip(instruction.samples, instruction.offsets, strict=True))
            if absent := tuple(sample for sample, offset in each if offset < 0):
                yield Sized(absent, (SAMPLE_BYTES,) * len(absent))
            if placed := tuple(sample for sample, offset in each if offset >= 0):
                yield Prepared(placed)
        case Deliver() if instruction.samples.size:
            yield Release(instruction.job, instruction.samples)
        case Refuse():
            raise BadArgument(
                f"the daemon would refuse this (a sample has {SAMPLE_BYTES} bytes here): "
                f"{instruction.reason}"
            )


def _check_count(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise BadArgument(f"{name} is {value!r}; it must be an integer of at least 1")
