"""How much better than an even split anybody could do with the eight jobs of the A-Dloader paper.

Two bounds on the mean time from arrival to end. *Workers without end*: every job trains as fast as
it can. *Best order*: workers go to jobs by rank, the first gets all that it wants; of all ranks the
best is looked for, knowing all jobs and their lengths, by changes that help until none does.
"""

from collections.abc import Sequence
from itertools import permutations
from statistics import fmean

from joader.schedule.shares.policies import Need, policy_of
from papers.figures.adloader_jobs import (
    APPS,
    Times,
    of_a_worker,
    run,
    times,
    trainings,
)
from papers.figures.adloader_machine import WORKERS
from papers.simulators.shares_over_time import Allocate, stretches


def without_end() -> Times:
    """Return the times if there is a worker for whoever wants one."""
    each = fmean(of_a_worker(app) for app in APPS)
    parts = stretches(
        trainings(), 1000 * WORKERS, policy_of("fair").shares, lambda busy: each * busy
    )
    return times(list(parts))


def by_rank(names: Sequence[str]) -> Allocate:
    """Return what gives workers to these jobs one after the other, each as many as it wants."""
    # A policy is not told names; what a job wants tells them apart.
    rank = {(job.demand, 1 / job.rows_per_s): names.index(job.name) for job in trainings()}

    def shares(needs: Sequence[Need], capacity: float) -> list[float]:
        found = [0.0] * len(needs)
        for place in sorted(
            range(len(needs)), key=lambda p: rank[needs[p].demand, needs[p].step_s]
        ):
            found[place] = min(needs[place].demand, capacity)
            capacity -= found[place]
        return found

    return shares


def best_order() -> Times:
    """Return the times of the best ranks that are found from the shortest job first."""
    order = sorted(APPS, key=lambda app: app.images / of_a_worker(app))
    names = [app.name for app in order]
    best = times(run(by_rank(names)))
    improved = True
    while improved:
        improved = False
        for first, second in permutations(range(len(names)), 2):
            moved = names[:first] + names[first + 1 :]
            moved.insert(second, names[first])
            found = times(run(by_rank(moved)))
            if found.latency_s < best.latency_s - 1e-6:
                names, best, improved = moved, found, True
    return best
