"""The eight jobs of the A-Dloader paper that come and go, and how long they take under a scheme.

Rates are fitted to Figure 8, the baseline without reallocation: each job's workers and when it ends
give what a worker loads for it. Printed are 260 s (app1, app2), 655 s and 1,063 s (when all others
of their wave are done) and 1,200 s (app4). Which of a wave ends last is not printed: here all do,
which is one of five readings that were tried (adloader_dynamic.py). How fast a job can train
follows from its FLOPs by two points that are printed: 8 workers are enough for Resnet18 (Figure 7),
and 4 for VGG13.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from papers.figures.adloader_machine import PAUSE_S, WINDOW_S, WORKERS
from papers.simulators.shares_over_time import Allocate, Stretch, Training, ends_s, stretches


@dataclass(frozen=True)
class App:
    """A row of Table III, and when it ends in Figure 8."""

    name: str
    giga_flops: float
    batch: int
    iterations: int
    workers: int
    start_s: float
    ends_s: float

    @property
    def images(self) -> int:
        """How many images it trains on."""
        return self.batch * self.iterations


# name, giga_flops, batch, iterations, workers, start_s, ends_s
_ROWS = (
    ("app1", 0.5, 128, 1000, 6, 0, 260),
    ("app2", 0.2, 128, 1000, 6, 0, 260),
    ("app3", 3.4, 128, 1500, 6, 120, 655),
    ("app4", 11.0, 64, 1500, 2, 420, 1200),
    ("app5", 0.3, 128, 500, 6, 420, 655),
    ("app6", 0.2, 128, 500, 4, 420, 655),
    ("app7", 3.0, 64, 1000, 6, 800, 1063),
    ("app8", 1.4, 64, 1500, 4, 800, 1063),
)
APPS = tuple(App(*row) for row in _ROWS)
# Giga-FLOPs, and workers at which it does not wait: printed are 8 and 4, rounded up, so half less.
RESNET18 = (1.8, 7.5)
VGG13 = (11.0, 3.5)


def of_a_worker(app: App) -> float:
    """Return the images per second that a worker loads for this job."""
    return app.images / (app.ends_s - app.start_s) / app.workers


def trains(giga_flops: float) -> float:
    """Return images per second: the seconds of an image are linear in its FLOPs."""
    each = fmean(of_a_worker(app) for app in APPS)
    (f0, d0), (f1, d1) = RESNET18, VGG13
    s0, s1 = 1 / (d0 * each), 1 / (d1 * of_a_worker(APPS[3]))
    return 1 / (s0 + (s1 - s0) * (giga_flops - f0) / (f1 - f0))


def trainings() -> list[Training]:
    """Return the jobs; a worker of the mean loads one row per unit of time."""
    each = fmean(of_a_worker(app) for app in APPS)
    return [
        Training(
            app.name,
            app.images,
            trains(app.giga_flops),
            trains(app.giga_flops) / of_a_worker(app),
            app.start_s,
            each / of_a_worker(app),
        )
        for app in APPS
    ]


def run(allocate: Allocate, fixed: bool = False, paused: bool = False) -> list[Stretch]:
    """Let the eight jobs run under a scheme."""
    each = fmean(of_a_worker(app) for app in APPS)
    jobs: Sequence[Training] = trainings()
    if fixed:
        jobs = [replace(job, fixed=app.workers) for job, app in zip(jobs, APPS, strict=True)]
    return list(
        stretches(
            jobs,
            WORKERS,
            allocate,
            lambda busy: each * busy,
            pause_s=PAUSE_S if paused else 0.0,
            window_s=WINDOW_S if paused else 0.0,
        )
    )


@dataclass(frozen=True)
class Times:
    """When the last job is done, and how long a job takes from its arrival, on average."""

    makespan_s: float
    latency_s: float


def times(parts: Sequence[Stretch]) -> Times:
    """Return the times of a run."""
    ends = ends_s(parts)
    return Times(max(ends.values()), fmean(ends[app.name] - app.start_s for app in APPS))
