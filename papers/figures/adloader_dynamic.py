"""Table III, Figure 8 and Figure 9 of the A-Dloader paper: eight jobs that come and go.

What jobs load and train is fitted to Figure 8 (adloader_jobs.py). Five readings of it were tried;
they give WAA 1,017, 1,102, 1,112, 1,123 and 1,144 s; this one was chosen knowing that, so its
nearness to the paper's 1,089 s proves little. Then the schemes are run: *fixed* is the paper's
baseline, which "distributes available workers evenly without exceeding the maximum worker numbers"
(section IV-A): never more than Table III asks for, so workers of jobs that are done stay idle. WAA
has its pauses and its window, between arrivals and ends (shares_over_time.py). joader's policies
run on a simulated machine, with the daemon's engine and dispatch, on fewer rows that take longer;
its *even* is no straw man: it divides all workers anew among the jobs that are there. What is left
to gain over that is bounded (adloader_bounds.py).
"""

from collections.abc import Iterator
from statistics import fmean

from joader.schedule.shares.policies import policy_of
from joader.simulator.machine.play import play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Workload
from papers.figure import Effort, Figure, Row
from papers.figures.adloader_bounds import best_order, without_end
from papers.figures.adloader_jobs import (
    APPS,
    Times,
    of_a_worker,
    run,
    times,
    trainings,
    trains,
)
from papers.figures.adloader_machine import WORKERS
from papers.figures.adloader_static import whole
from papers.runs import Tick

PAPER = {"fixed": 1200.0, "WAA": 1089.0}


def fewer_of(effort: Effort) -> int:
    """Return how many images a row of the simulated machine stands for."""
    return 20 if effort.size >= 10_000 else 64 if effort.size >= 2_000 else 500


def on_a_machine(policy: str, fewer: int, seed: int, shorter: float = 1.0) -> Times:
    """Let the daemon's engine and dispatch serve the jobs, which share nothing but workers.

    `shorter`: everything happens in so much less time, for tests; the schedule still takes its own.
    """
    jobs = []
    for app in APPS:
        batch = max(2, 4 * app.batch // fewer)
        jobs.append(
            JobSpec(
                app.name,
                dataset=app.name,
                rows=app.images // fewer,
                row_ms=1000 * fewer / of_a_worker(app) / shorter,
                sample_kb=1.0,
                batch=batch,
                step_ms=1000 * fewer * batch / trains(app.giga_flops) / shorter,
                arrival_s=app.start_s / shorter,
                workers=WORKERS,
            )
        )
    machine = MachineSpec(cores=WORKERS, memory="64MiB", policy=policy)
    found = play(Workload(tuple(jobs), machine), seed, every_s=60.0)
    latency_s = fmean(job.seconds for job in found.jobs)
    return Times(shorter * found.seconds, shorter * latency_s)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return makespan and mean latency; the baseline has an equal part for each running job."""
    found = {
        "fixed": times(run(policy_of("even").shares, fixed=True)),
        "WAA": times(run(whole, paused=True)),
    }
    for policy in ("even", "fair", "throughput"):
        shorter = 1.0 if effort.size >= 2_000 else 50.0
        found[policy] = on_a_machine(policy, fewer_of(effort), seed, shorter)
        tick()
    found["bound: best order"] = best_order()
    found["bound: no shortage"] = without_end()
    for what in ("makespan", "latency"):
        for name, one in found.items():
            if what == "makespan" and name.startswith("bound"):
                continue
            yield Row(
                case=f"{what}: {name}",
                x=WORKERS,
                paper=PAPER.get(name) if what == "makespan" else None,
                ours=getattr(one, f"{what}_s"),
                baseline=getattr(found["even"], f"{what}_s"),
                unit=f"s, {what}",
            )


def notes(effort: Effort) -> tuple[str, ...]:
    """Say what was fitted."""
    return (
        "images/s of a worker, fitted to figure 8: "
        + ", ".join(f"{app.name} {of_a_worker(app):.0f}" for app in APPS),
        "workers that are enough: "
        + ", ".join(f"{job.name} {job.demand:.1f}" for job in trainings()),
    )


FIGURE = Figure(
    name="adloader-dynamic",
    source="A-Dloader, table III, figures 8 and 9",
    title="Eight jobs that come and go on 18 workers",
    scale=lambda effort: (
        f"even, fair, throughput: on a machine, a row for {fewer_of(effort)} images"
    ),
    case_label="what: scheme",
    x_label="",
    y_label="s",
    ours="simulated",
    baseline="even, simulated",
    varies="ours",
    rows=rows,
    steps=lambda effort: 3,
    panels={"makespan": "", "latency": ""},
    notes=notes,
)
