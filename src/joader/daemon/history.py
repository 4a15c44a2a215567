"""What the node did, second by second, computed once for top, dashboard and summary.

Every second the daemon notes its figures here. Differences of counts become rates, and rates are
kept in two rings: the last ten minutes by the second, the last day by the minute. Both are bounded.
Time is an argument: a monotonic clock for differences, the wall clock for people.

Not here: who counts (engine, pool), who shows (cli/top, dashboard).
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from joader.schedule.diagnosis import diagnosed
from joader.statistics import (
    FlowStatistics,
    JobMomentStatistics,
    JobStatistics,
    MomentStatistics,
    NodeStatistics,
    RunStatistics,
    saved,
)

STEP_S = 1.0
_MOMENTS = 600
_MINUTES = 24 * 60
_OF_A_MINUTE = 60
# How many jobs that have left are kept, and for how long. Values only, so no job stays alive.
_PAST = 100
_PAST_S = 24 * 3600.0
# How many steps a moment covers: jobs read in bursts, so one second alone says little.
_BACK = 5

_NO_LABELS: Mapping[int, str] = {}


@dataclass(frozen=True)
class _Saved:
    """Worker time that hits have saved."""

    saved_s: float = 0.0
    saved_cpu_s: float = 0.0

    def __add__(self, other: "_Saved") -> "_Saved":
        return _Saved(self.saved_s + other.saved_s, self.saved_cpu_s + other.saved_cpu_s)

    def rounded(self) -> "_Saved":
        return _Saved(round(self.saved_s, 3), round(self.saved_cpu_s, 3))


@dataclass(frozen=True)
class _Before:
    """The counters as they were at the end of an earlier moment."""

    now: float
    node: NodeStatistics
    jobs: Mapping[int, JobStatistics]
    cpu_s: Mapping[int, float]


class History:
    """The two rings of moments, and the jobs that have left."""

    def __init__(self, now: float) -> None:
        """Start at this time of a monotonic clock."""
        self._began = now
        self._before: deque[_Before] = deque(maxlen=_BACK)
        self._moments: deque[MomentStatistics] = deque(maxlen=_MOMENTS)
        self._minutes: deque[MomentStatistics] = deque(maxlen=_MINUTES)
        self._minute: list[MomentStatistics] = []
        self._past: deque[JobStatistics] = deque(maxlen=_PAST)
        self._saved_s: dict[int, _Saved] = {}  # by job
        self._saved_in_all_s = _Saved()

    def note(self, now: float, node: NodeStatistics, cpu_s: Mapping[int, float]) -> None:
        """Take in the counters; `cpu_s` is the CPU time of each worker process."""
        after = _Before(now, node, {job.id: job for job in node.jobs}, cpu_s)
        if not self._before:
            self._before.append(after)
            return
        for job in node.jobs:
            self._note_saved(job, self._before[-1].jobs.get(job.id))
        moment = _moment(self._before[0], after)
        self._before.append(after)
        self._moments.append(moment)
        self._minute.append(moment)
        if len(self._minute) == _OF_A_MINUTE:
            self._minutes.append(mean(self._minute))
            self._minute = []

    def left(self, job: JobStatistics, time: float) -> None:
        """Keep the final figures of a job that leaves at this wall-clock time."""
        self._note_saved(job, self._before[-1].jobs.get(job.id) if self._before else None)
        seconds = max(1e-3, time - job.began)
        of_all_its_time = JobMomentStatistics(
            samples_per_s=round(job.delivered / seconds, 2),
            waiting=round(min(1.0, job.wait_s / seconds), 3),
        )
        final = replace(self._seen(job, of_all_its_time), time_left_s=None, ended=round(time, 3))
        self._saved_s.pop(job.id, None)
        self._past.append(replace(final, flow=FlowStatistics()))

    def past(self, now: float) -> tuple[JobStatistics, ...]:
        """Return jobs that left within a day before this wall-clock time, the latest last."""
        while self._past and self._past[0].ended < now - _PAST_S:
            self._past.popleft()
        return tuple(self._past)

    def seen(self, now: float, node: NodeStatistics) -> NodeStatistics:
        """Return the counters together with the figures derived from earlier moments.

        The last derived figure is the diagnosis: where time is lost.
        """
        late = self._moments[-1] if self._moments else mean(())
        all_of_it = self._saved_in_all_s.rounded()
        told = replace(
            node,
            uptime_s=round(now - self._began, 3),
            jobs=tuple(self._seen(job, late.jobs.get(job.id)) for job in node.jobs),
            totals=replace(
                node.totals,
                saved_s=all_of_it.saved_s,
                saved_cpu_s=all_of_it.saved_cpu_s,
                saved=saved(node.totals),
            ),
            delivered_per_s=late.delivered_per_s,
            prepared_per_s=late.prepared_per_s,
            cpu_cores=late.cpu_cores,
        )
        return diagnosed(told)

    def run(
        self, node: NodeStatistics, since: float = 0.0, labels: Mapping[int, str] = _NO_LABELS
    ) -> RunStatistics:
        """Return all moments later than a time, without the unfinished minute.

        `labels` renames jobs that have left, because later runs may differ in more options.
        """
        return RunStatistics(
            node=node,
            moments=tuple(one for one in self._moments if one.time > since),
            minutes=tuple(one for one in self._minutes if one.time > since),
            past=tuple(
                job
                if (label := labels.get(job.id, job.label)) == job.label
                else replace(job, label=label)
                for job in self.past(node.time)
            ),
        )

    def _note_saved(self, job: JobStatistics, before: JobStatistics | None) -> None:
        # Step by step: the cost of a row may change, and is known only after the first.
        hits = job.hits - (before.hits if before else 0)
        its = _Saved(hits * job.row_s, hits * job.computing_s)
        self._saved_s[job.id] = self._saved_s.get(job.id, _Saved()) + its
        self._saved_in_all_s += its

    def _seen(self, job: JobStatistics, late: JobMomentStatistics | None) -> JobStatistics:
        late = late or JobMomentStatistics()
        left = max(0, job.rows - job.position)
        its = self._saved_s.get(job.id, _Saved()).rounded()
        return replace(
            job,
            saved_s=its.saved_s,
            saved_cpu_s=its.saved_cpu_s,
            saved=saved(job),
            done=round(min(1.0, job.position / job.rows), 4) if job.rows else 0.0,
            wait_per_sample_s=job.wait_s / job.delivered if job.delivered else 0.0,
            samples_per_s=late.samples_per_s,
            waiting=late.waiting,
            worker_share=late.worker_share,
            time_left_s=round(left / late.samples_per_s, 1) if late.samples_per_s else None,
        )


def _moment(before: _Before, after: _Before) -> MomentStatistics:
    """Return the rates between two sets of counters."""
    seconds = after.now - before.now
    totals, earlier = after.node.totals, before.node.totals
    # Only of workers that were here at both ends: others have no difference.
    cpu_s = sum(
        max(0.0, used - before.cpu_s[pid])
        for pid, used in after.cpu_s.items()
        if used and before.cpu_s.get(pid)
    )
    work = {job.id: _work(job, before.jobs.get(job.id)) for job in after.node.jobs}
    all_work = sum(work.values()) or 1.0
    return MomentStatistics(
        time=round(after.node.time, 3),
        seconds=round(seconds, 3),
        delivered_per_s=round((totals.delivered - earlier.delivered) / seconds, 2),
        prepared_per_s=round((totals.prepared - earlier.prepared) / seconds, 2),
        cpu_cores=round(cpu_s / seconds, 3),
        memory=after.node.memory,
        flow=after.node.flow,
        jobs={
            job.id: _job_moment(job, before.jobs.get(job.id), seconds, work[job.id] / all_work)
            for job in after.node.jobs
        },
    )


def _work(job: JobStatistics, before: JobStatistics | None) -> float:
    """Return how many seconds workers spent for a job."""
    prepared = job.prepared - (before.prepared if before else 0)
    delivered = job.delivered - (before.delivered if before else 0)
    return prepared * job.row_s + delivered * job.own_row_s


def _job_moment(
    job: JobStatistics, before: JobStatistics | None, seconds: float, share: float
) -> JobMomentStatistics:
    got = job.delivered - (before.delivered if before else 0)
    waited = job.wait_s - (before.wait_s if before else 0.0)
    if not got and job.flow.preparing and not job.flow.held:
        waited = seconds  # a job reports its wait only when it has its batch
    return JobMomentStatistics(
        samples_per_s=round(got / seconds, 2),
        waiting=round(min(1.0, max(0.0, waited / seconds)), 3),
        worker_share=round(share, 3),
    )


def mean(moments: Sequence[MomentStatistics]) -> MomentStatistics:
    """Merge several moments; of figures that hold at one moment, keep the latest."""
    if not moments:
        return MomentStatistics(time=0.0, seconds=0.0)
    seconds = sum(one.seconds for one in moments) or 1.0

    def over_time(values: Iterable[float]) -> float:
        weighed = zip(values, moments, strict=True)
        return round(sum(value * one.seconds for value, one in weighed) / seconds, 3)

    def job_moment(job: int) -> JobMomentStatistics:
        nothing = JobMomentStatistics()
        each = [one.jobs.get(job, nothing) for one in moments]
        return JobMomentStatistics(
            samples_per_s=over_time(one.samples_per_s for one in each),
            waiting=over_time(one.waiting for one in each),
            worker_share=over_time(one.worker_share for one in each),
        )

    last = moments[-1]
    jobs = dict.fromkeys(job for one in moments for job in one.jobs)
    return MomentStatistics(
        time=last.time,
        seconds=round(seconds, 3),
        delivered_per_s=over_time(one.delivered_per_s for one in moments),
        prepared_per_s=over_time(one.prepared_per_s for one in moments),
        cpu_cores=over_time(one.cpu_cores for one in moments),
        memory=last.memory,
        flow=last.flow,
        jobs={job: job_moment(job) for job in jobs},
    )
