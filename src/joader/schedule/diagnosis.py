"""What limits each job, and the node: one sentence from measured times, and what to do about it.

All screens show these sentences and have none of their own. Nothing is guessed from what jobs need
on paper: a job says what its process does with its time (`TimeUse`), workers say what a sample
costs them (computing, waiting for a storage, waiting for a core), accounts say for whom that was.

A job loses time *waiting* for rows that others prepare, *reading* rows by itself, and *collating*.
If none of these is a tenth of its time, its training is the limit. Else the largest counts. Of what
workers spend on a sample it waits for, the largest part counts, but for two things that make all
else slower: a *core* that others have, and a *share*, if other jobs have the workers. Each of these
counts if without it samples would come half as fast again; of both, the one that costs more.

For the node a share is no reason: what one job lacks another has. There the reason counts for which
its jobs lose most time.

Invariant: `diagnosed` reads nothing but what scripts get as JSON, so a sentence can be checked by
the figures next to it. Not here: how rows are timed (pace.py, workers/clock.py). Of a row that
computes in several threads no wait for a core is known.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite

from joader.messages import Want
from joader.schedule.shares.policies import POLICIES
from joader.statistics import (
    CrewStatistics,
    DiagnosisStatistics,
    JobStatistics,
    NodeStatistics,
    ShareStatistics,
    TimeStatistics,
    WorkStatistics,
)

COMPUTING, STORAGE, CORE, SHARE = "computing", "storage", "core", "share"
COLLATE, TRAINING, STARTING = "collate", "training", "starting"

# The past fades over this time, but at least this part of it remains with each further batch.
_MEMORY_S = 5.0
_LEAST_KEPT = 0.8
# One long step (a checkpoint, an evaluation) counts as this many usual ones at most.
_MOST_TIMES = 8.0
# A job that has told of fewer batches has only begun.
_LEAST_BATCHES = 4
# Part of a job's time; less is no loss worth a change.
_LOSS = 0.1
# A cause counts if without it samples would come this many times as fast.
_SLOWS = 1.5
# Workers have the cores if they keep this part of them busy; they are idle below this part of them.
_BUSY = 0.8
_IDLE = 0.5
# A share is enough if it is this part of what a job needs.
_ENOUGH = 0.9
# A job has paused if this many batches usually take it less than a moment, and it asked for nothing
# in a moment.
_PAUSE_BATCHES, _MOMENT_S = 4, 5.0


class TimeUse:
    """What the process of one job has recently done with its time."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._batches = 0
        self._weight = self._total_s = 0.0
        self._wait_s = self._read_s = self._collate_s = self._cpu_s = 0.0

    def note(self, said: Want) -> None:
        """Note what it says of its latest batch; nonsense is left out."""
        parts = (said.step_s, said.wait_s, said.read_s, said.collate_s, said.cpu_s)
        if said.step_s <= 0.0 or not all(isfinite(one) and one >= 0.0 for one in parts):
            return
        step_s, wait_s, read_s, collate_s, cpu_s = parts
        own_s = min(step_s, read_s + collate_s)
        if self._weight:
            step_s = min(step_s, max(own_s, _MOST_TIMES * self._total_s / self._weight))
        took_s = step_s + wait_s
        kept = max(_LEAST_KEPT, _MEMORY_S / (_MEMORY_S + took_s)) if self._batches else 0.0
        self._batches += 1
        self._weight = kept * self._weight + 1.0
        self._total_s = kept * self._total_s + took_s
        self._wait_s = kept * self._wait_s + wait_s
        self._read_s = kept * self._read_s + min(step_s, read_s)
        self._collate_s = kept * self._collate_s + min(collate_s, max(0.0, step_s - read_s))
        self._cpu_s = kept * self._cpu_s + cpu_s * took_s / (said.step_s + wait_s)

    def statistics(self) -> TimeStatistics:
        """Return the parts."""
        if not self._batches:
            return TimeStatistics()
        return TimeStatistics(
            batches=self._batches,
            batch_s=self._total_s / self._weight,
            waiting=self._wait_s / self._total_s,
            reading=self._read_s / self._total_s,
            collating=self._collate_s / self._total_s,
            cores=self._cpu_s / self._total_s,
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """What limits a job: which part of its time that costs, and what the job does in it."""

    kind: str
    because: str
    do: str = ""
    lost: float = 0.0  # 0 to 1
    one: str = ""  # what it does: a job, in words …
    many: str = ""  # … and several


class Node:
    """The figures of a node that all diagnoses use."""

    def __init__(self, figures: NodeStatistics) -> None:
        """Derive once what all of them need."""
        self.figures = figures
        self.cores = figures.schedule.cores or figures.cores  # that workers may use
        self.used_by_all = self.used(figures.jobs)
        # That workers keep busy. Processes are counted if they live for some seconds; accounts have
        # what all of them say.
        self.busy = max(figures.cpu_cores, self.used_by_all)
        each: dict[int, float] = {}
        for job in figures.jobs:
            each[job.pid] = max(each.get(job.pid, 0.0), job.time.cores)
        self.trains = sum(each.values())  # cores that the jobs' own processes keep busy
        policy = POLICIES.get(figures.schedule.policy)
        self.reserves = policy is not None and policy.reserves  # nobody may use what others leave

    def group(self, job: JobStatistics) -> list[JobStatistics]:
        """Return the jobs of a job's recipe, itself included: ranks share no row."""
        its = {job.id, *job.shares_with}
        if job.world_size > 1:
            rank = (job.world_size, job.name, job.dataset)
            ranks = self.figures.jobs
            its |= {one.id for one in ranks if (one.world_size, one.name, one.dataset) == rank}
        return [one for one in self.figures.jobs if one.id in its]

    @staticmethod
    def used(jobs: Iterable[JobStatistics]) -> float:
        """Return how many cores workers have kept busy for these jobs, by their accounts."""
        return sum([job.schedule.used for job in jobs if job.schedule])

    def crews(self, jobs: Iterable[JobStatistics]) -> list[CrewStatistics]:
        """Return the workers of these jobs."""
        known = {job.id for job in jobs}
        return [crew for crew in self.figures.crews if known.intersection(crew.jobs)]


@dataclass(frozen=True, slots=True)
class Wait:
    """A job that waits for rows that others prepare."""

    job: JobStatistics
    node: Node
    group: list[JobStatistics]
    work: WorkStatistics  # on its rows; if it brings no workers, of other readers

    @property
    def share(self) -> ShareStatistics:
        """Return what it gets of the workers' time."""
        return self.job.schedule or ShareStatistics()

    @property
    def sample_s(self) -> float:
        """Return what workers take for a sample."""
        return _total_s(self.work)


def diagnosed(node: NodeStatistics) -> NodeStatistics:
    """Return figures with a diagnosis of each job, and of the node."""
    here = Node(node)
    jobs = tuple([replace(job, diagnosis=_of_job(job, here)) for job in node.jobs])
    return replace(node, jobs=jobs, diagnosis=_of_node(here))


def _of_job(job: JobStatistics, node: Node) -> DiagnosisStatistics:
    found = _finding(job, node, shares=True)
    says = found.because
    if found.lost:
        says = f"It {found.one.format(f'{found.lost:.0%}')}: {found.because}"
    return DiagnosisStatistics(kind=found.kind, says=says, do=found.do)


def _of_node(node: Node) -> DiagnosisStatistics:
    """Return the cause that costs jobs most time, in the words of the job that loses most."""
    jobs = node.figures.jobs
    if not jobs:
        return DiagnosisStatistics(says="No job reads now." if node.figures.pid else "")
    found = [_finding(job, node, shares=False) for job in jobs]
    lost: dict[str, float] = {}
    for one in found:
        lost[one.kind] = lost.get(one.kind, 0.0) + one.lost
    kind = max(lost, key=lambda kind: lost[kind])
    if not lost[kind]:
        if TRAINING in lost:
            return DiagnosisStatistics(kind=TRAINING, says=f"No job waits for data: {_TRAINS}")
        return DiagnosisStatistics(says="Jobs have only begun to read.")
    worst = max((one for one in found if one.kind == kind), key=lambda one: one.lost)
    count = sum(one.kind == kind for one in found)
    words = (worst.one if count == 1 else worst.many).format(f"{worst.lost:.0%}")
    who = "The job" if len(jobs) == 1 else f"{count} of {len(jobs)} jobs"
    return DiagnosisStatistics(kind=kind, says=f"{who} {words}: {worst.because}", do=worst.do)


def _finding(job: JobStatistics, node: Node, *, shares: bool) -> Finding:
    """Return what costs a job most time; `shares`: that others have the workers counts, too."""
    its = job.time
    stuck = job.waiting >= 1.0 and not job.samples_per_s
    if its.batches < _LEAST_BATCHES:
        begun = "It waits for its first batches." if stuck else "It has only begun to read."
        return Finding(STARTING, begun)
    known_for_s = its.batches * its.batch_s
    if not (stuck or job.samples_per_s) and _PAUSE_BATCHES * its.batch_s < _MOMENT_S < known_for_s:
        return Finding(TRAINING, "It asks for no data now: it trains, evaluates or saves.")
    waiting = 1.0 if stuck else its.waiting
    lost = max(waiting, its.reading, its.collating)
    if lost < _LOSS:
        return Finding(TRAINING, f"It waits {waiting:.0%} of the time: {_TRAINS}")
    if lost == waiting:
        found = _why_it_waits(job, node, shares=shares)
        return replace(
            found, lost=lost, one="waits {} of the time", many="wait up to {} of the time"
        )
    if lost == its.reading:
        found = Finding(COMPUTING, _READS, _READ_ELSEWHERE)
        return _lost(found, lost, "reading rows in its own process")
    return _lost(Finding(COLLATE, _COLLATES, _COLLATE_LESS), lost, "making batches")


def _lost(found: Finding, lost: float, by: str) -> Finding:
    one, many = f"spends {{}} of its time {by}", f"spend up to {{}} of their time {by}"
    return replace(found, lost=lost, one=one, many=many)


def _why_it_waits(job: JobStatistics, node: Node, *, shares: bool) -> Finding:
    """Return why a job waits for rows that others prepare."""
    group = node.group(job)
    works = [one.schedule.work for one in (job, *group) if one.schedule]
    work = next((one for one in works if _total_s(one)), None)
    if work is None:
        return Finding(STARTING, "rows have not been timed yet.")
    wait = Wait(job, node, group, work)
    slows = {CORE: _core_slows(wait), SHARE: _share_slows(wait) if shares else 1.0}
    kind = max(slows, key=lambda kind: slows[kind])
    if slows[kind] < _SLOWS:
        kind = STORAGE if work.storage_s > work.computing_s else COMPUTING
    return {CORE: _core, SHARE: _share, STORAGE: _storage, COMPUTING: _computing}[kind](wait)


def _total_s(work: WorkStatistics) -> float:
    return work.computing_s + work.storage_s + work.core_s


def _core_slows(wait: Wait) -> float:
    """Return how many times as long a sample takes as if workers had a core whenever they want."""
    work, node = wait.work, wait.node
    if work.core_s < work.storage_s or node.busy >= _BUSY * node.cores:
        return 1.0  # it waits for something else, or for cores that workers have themselves
    return wait.sample_s / max(work.computing_s + work.storage_s, 1e-9)


def _share_slows(wait: Wait) -> float:
    """Return how many times as much workers do in all as for the recipe that a job reads."""
    its, node = wait.share, wait.node
    short = its.needed is None or its.share < _ENOUGH * its.needed
    if not short or its.work.storage_s > its.work.computing_s:
        return 1.0
    if node.reserves:
        return its.needed / its.share if its.needed and its.share else inf
    mine = node.used(wait.group)
    return node.used_by_all / mine if mine > 0.0 else 1.0


# Why a job waits, and what to do.


def _core(wait: Wait) -> Finding:
    work, node = wait.work, wait.node
    trains = node.trains > (node.cores - node.busy) / 2
    because = (
        f"{'the training itself has' if trains else 'other programs have'} the cores, so a sample "
        f"that needs {_ms(work.computing_s + work.storage_s)} takes workers {_ms(wait.sample_s)}."
    )
    do = "End those programs, or run the job where cores are free"
    if trains:
        do = "Give the training fewer threads (torch.set_num_threads), or use more cores"
    return Finding(CORE, because, f"{do}; more workers do not help.")


def _share(wait: Wait) -> Finding:
    its, node = wait.share, wait.node
    if node.reserves:
        policy = node.figures.schedule.policy
        because = f"policy {policy} keeps it at {its.share:.2g} workers, whatever others leave."
        return Finding(SHARE, because, "`joader policy fair` lets it use what others leave.")
    others = 1.0 - node.used(wait.group) / max(node.used_by_all, 1e-9)
    return Finding(
        SHARE,
        f"it is behind other jobs, for which workers compute {others:.0%} of their time.",
        f"Raise its weight (`joader jobs {wait.job.id} --weight {2 * its.weight:g}`), or run fewer "
        "jobs at once.",
    )


def _storage(wait: Wait) -> Finding:
    crews, cores = wait.node.crews(wait.group), wait.node.cores
    most = max((crew.in_flight_most for crew in crews), default=0)
    lent = sum(crew.most or cores for crew in crews if not crew.reads_ahead)
    share = f"{_ms(wait.work.storage_s)} of the {_ms(wait.sample_s)}"
    because = f"rows wait for storage, for {share} that workers take for a sample."
    if lent and (not most or most >= lent):
        do = f"Lend more workers (num_workers={2 * lent}), because each waits for one row."
    elif most:
        do = f"Use faster storage; more than {most} rows at a time gave no more per second."
    else:
        do = "Use faster storage."
    return Finding(STORAGE, because, do)


def _computing(wait: Wait) -> Finding:
    work, node, crews = wait.work, wait.node, wait.node.crews(wait.group)
    schedule, used = node.figures.schedule, node.used(wait.group)
    lent = sum(crew.most or node.cores for crew in crews)
    workers = sum(len(crew.workers) for crew in crews)
    limit = node.cores * schedule.cpu
    free = node.busy < _BUSY * min(limit, schedule.active or limit)
    at_work = used * wait.sample_s / max(work.computing_s, 1e-9)
    if free and at_work < _IDLE * max(1, workers):
        because = "joader cannot tell why, because neither cores nor workers are busy."
        do = "If memory is full, give the daemon more (`joader up --memory`)."
        return Finding(STARTING, because, do)
    because = (
        f"preparing is the limit; a sample computes for {_ms(work.computing_s)}, and workers keep "
        f"{node.busy:.1f} of {node.cores} cores busy."
    )
    if free and lent < node.cores:
        do = f"Lend more workers (num_workers={node.cores}), because cores are free."
    elif schedule.cpu < 1.0:
        do = f"Let workers use more than {schedule.cpu:.0%} of the cores (`joader up --cpu`)."
    elif work.own_s > wait.sample_s / 2:
        do = "Move what is the same for all jobs from transform= to prepare=, or use more cores."
    else:
        do = "Do less per sample (smaller images, fewer steps), or use more cores."
    return Finding(COMPUTING, because, do)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


_TRAINS = "training is the limit, so faster data would gain nothing."
_COLLATES = "collate_fn, batch_transform and copying run in the job, not in workers."
_COLLATE_LESS = (
    "Make them cheaper, or move that work into the dataset or transform=, which run in workers."
)
_READS = "no worker prepares them."
_READ_ELSEWHERE = "Let workers read them: leave num_workers out, or set it to 2 or more."
