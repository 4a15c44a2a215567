"""Jobs that come, share workers by a policy, and go: who gets what when, and when each is done.

Between two arrivals or ends nothing changes, so time goes from one to the next. Shares come from
`schedule.policies`, the code that the daemon decides by; only rates are modeled here: how many rows
a second so many busy workers prepare together, and how many each job can train on. Rows prepared
for one job are of no use to another: this is about workers, not about sharing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from joader.schedule.shares.policies import Need

Allocate = Callable[[Sequence[Need], float], Sequence[float]]
Loading = Callable[[float], float]  # busy workers -> rows per second of all together
_ALMOST = 1e-9


@dataclass(frozen=True)
class Training:
    """A job: how many rows it reads, from when, and how many a second it can train on.

    `demand` is the workers that it asks a policy for; `row_times` how long its rows take a worker,
    beside those of the others.
    """

    name: str
    rows: float
    rows_per_s: float = inf
    demand: float = inf
    start_s: float = 0.0
    row_times: float = 1.0
    fixed: float | None = None  # workers, for a policy that obeys what users asked for


@dataclass(frozen=True)
class Stretch:
    """A time in which nothing changes: the workers of each running job, and its rows per second."""

    start_s: float
    end_s: float
    workers: dict[str, float]
    rows_per_s: dict[str, float]


def stretches(
    jobs: Sequence[Training],
    workers: float,
    allocate: Allocate,
    loading: Loading,
    *,
    pause_s: float = 0.0,
    window_s: float = 0.0,
) -> Iterator[Stretch]:
    """Let all jobs run to their end.

    `pause_s` is what a job loses if the number of its workers changes; changes within `window_s`
    are handled together, at its end. A common pool has neither.
    """
    left = {job.name: job.rows for job in jobs}
    by_name = {job.name: job for job in jobs}
    shares: dict[str, float] = {}
    resumes: dict[str, float] = {}
    now = min(job.start_s for job in jobs)
    decide_s = now  # when shares are next decided, infinite if nothing has changed
    while left:
        here = [job for job in jobs if job.start_s <= now + _ALMOST and job.name in left]
        if decide_s <= now + _ALMOST:
            needs = [Need(demand=job.demand, step_s=1 / job.rows_per_s) for job in here]
            new = dict(zip((job.name for job in here), allocate(needs, workers), strict=True))
            new = {job.name: new[job.name] if job.fixed is None else job.fixed for job in here}
            for name in new:
                if name in shares and abs(shares[name] - new[name]) > _ALMOST:
                    resumes[name] = now + pause_s
            shares, decide_s = new, inf
        running = [job for job in here if job.name in shares]
        awake = [job for job in running if resumes.get(job.name, now) <= now + _ALMOST]
        rates = _rates(awake, shares, loading)
        ends = [now + left[name] / rate for name, rate in rates.items() if rate]
        starts = [job.start_s for job in jobs if job.start_s > now + _ALMOST]
        wakes = [resumes[job.name] for job in running if job not in awake]
        end = min([*ends, *starts, *wakes, decide_s])
        given = {job.name: shares[job.name] for job in running}
        yield Stretch(now, end, given, {job.name: rates.get(job.name, 0.0) for job in running})
        for name, rate in rates.items():
            left[name] -= rate * (end - now)
        done = [name for name in rates if left[name] <= _ALMOST * by_name[name].rows]
        for name in done:
            del left[name], shares[name]
        if done or any(abs(start - end) < _ALMOST for start in starts):
            decide_s = min(decide_s, end + (window_s if shares else 0.0))
        now = end


def ends_s(parts: Sequence[Stretch]) -> dict[str, float]:
    """Return when each job was done."""
    return {name: part.end_s for part in parts for name in part.workers}


def _rates(
    awake: Sequence[Training], shares: dict[str, float], loading: Loading
) -> dict[str, float]:
    """Return rows per second: as many as the job's busy workers prepare, or as it can train on.

    How fast a worker is depends on how many are busy, and a job that is served leaves some idle.
    """
    busy = {job.name: shares[job.name] for job in awake}
    rate: dict[str, float] = {}
    for _ in range(50):
        total = sum(busy.values())
        each = loading(total) / total if total else 0.0
        for job in awake:
            of_a_worker = each / job.row_times
            rate[job.name] = min(job.rows_per_s, shares[job.name] * of_a_worker)
            wanted = rate[job.name] / of_a_worker if of_a_worker else 0.0
            # Halfway: a job that needs fewer makes the others faster, which then need fewer too.
            busy[job.name] = (busy[job.name] + wanted) / 2
    return rate
