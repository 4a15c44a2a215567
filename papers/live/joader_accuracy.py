"""Appendix A.3 of the JOADER paper, on a small scale: does the order change what a model learns?

Four jobs train at a time, the second 0.3 of a pass after the first, the others at 0.6 and 0.5 of
its speed: with torch's loader, with joader's streams, and with joint draws, the daemon having room
for a fifth of the rows. Each seed is one such group; it sets weights, augmentation and torch's
shuffles; joader's orders are the daemon's. Means of groups are compared, since jobs of one group
depend on each other. The p-value is that of all ways to split the groups of two sides.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from joader.cli.demo.processes import Process, Processes, interrupted_by_signals
from joader.cli.demo.side import start_daemon
from joader.errors import WorldError
from papers.figure import Effort, Figure, Row
from papers.live.locality_accuracy import where
from papers.live.small_pictures import SIDE, Pictures, opened
from papers.runs import Tick

SIDES = ("torch", "shared", "joint")
# Of each job: when it starts, in passes of the first, and its speed.
JOBS = ((0.0, 1.0), (0.3, 1.0), (0.1, 0.6), (0.7, 0.5))
PICTURE_BYTES = 3 * SIDE * SIDE


class _Scale:
    """How large a run is: all of it, or a try."""

    def __init__(self, effort: Effort) -> None:
        self.full = effort.size >= 10_000
        self.seeds, self.passes, self.pass_s = (5, 8, 2.0) if self.full else (1, 2, 1.0)
        self.jobs = JOBS if self.full else JOBS[:2]
        self.batch, self.width, self.workers = (256, 32, 2) if self.full else (32, 4, 1)
        self.rows = None if self.full else 320


Group = dict[str, Any]


def trained(seed: int, scale: _Scale, folder: Path, rows: int) -> dict[str, Group]:
    """Train a group of each side, all at once: a slow minute hits all of them."""
    with ExitStack() as stack:
        groups: dict[str, tuple[Processes, list[Process]]] = {}
        for side in SIDES:
            runtime = folder / f"{side}-{seed}"
            runtime.mkdir(mode=0o700)
            processes = stack.enter_context(closing(Processes(runtime)))
            if side != "torch":
                start_daemon(processes, runtime, str(max(rows * PICTURE_BYTES // 5, 2**20)))
            numbers = range(len(scale.jobs))
            groups[side] = (
                processes,
                [_started(processes, side, seed, number, scale) for number in numbers],
            )
        everyone = [(job, processes) for processes, jobs in groups.values() for job in jobs]
        for job, processes in everyone:
            _heard(job, processes)
        for job, _ in everyone:
            assert job.stdin is not None
            job.stdin.write("go\n")
            job.stdin.flush()
        return {
            side: _group([json.loads(_heard(job, processes)) for job in jobs])
            for side, (processes, jobs) in groups.items()
        }


def _group(said: list[Any]) -> Group:
    """Return the means over the jobs of a group."""
    delivered = sum(one.get("delivered", 0) for one in said)
    return {
        "accuracy": fmean(one["accuracy"] for one in said),
        "losses": np.mean([one["losses"] for one in said], axis=0).tolist(),
        "ratio": sum(one["prepared"] for one in said) / delivered if delivered else 1.0,
    }


def _started(processes: Processes, side: str, seed: int, number: int, scale: _Scale) -> Process:
    start, speed = scale.jobs[number]
    its = {
        "side": side,
        "folder": str(processes.folder.parent),
        "seed": 100 * seed + number,
        "start": start,
        "speed": speed,
        "passes": scale.passes,
        "pass_s": scale.pass_s,
        "batch": scale.batch,
        "width": scale.width,
        "workers": scale.workers,
    }
    return processes.start(
        f"job-{number}",
        ["-m", "papers.live.accuracy_job", json.dumps(its)],
        JOADER_RUNTIME=str(processes.folder),
        OMP_NUM_THREADS="1",
    )


def _heard(job: Process, processes: Processes) -> str:
    """Return the next line of a job."""
    assert job.stdout is not None
    line = job.stdout.readline()
    if not line:
        job.wait()
        processes.check()
        raise WorldError("a job ended before it had said anything")
    return line


def p_value(one: list[float], other: list[float]) -> float:
    """Return how likely a difference of means as large is by chance, by all permutations."""
    both = np.array(one + other)
    seen = abs(fmean(one) - fmean(other)) - 1e-12
    splits = [list(split) for split in combinations(range(both.size), len(one))]
    apart: list[bool] = [
        abs(both[split].mean() - np.delete(both, split).mean()) >= seen for split in splits
    ]
    return sum(apart) / len(splits)


def figure(data: str | None) -> Figure:
    """Return the figure, on the pictures of this folder, or on made ones."""
    said: list[str] = []

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        scale = _Scale(effort)
        pictures = opened(data, scale.rows or 20_000)
        found: dict[str, list[Group]] = {side: [] for side in SIDES}
        with (
            interrupted_by_signals(),
            tempfile.TemporaryDirectory(prefix="joader-accuracy-") as name,
        ):
            total = _kept(pictures, Path(name), scale.rows)
            for number in range(seed, seed + scale.seeds):
                for side, group in trained(number, scale, Path(name), total).items():
                    found[side].append(group)
                tick()
        said[:] = [
            f"trained on {pictures.name if scale.full else f'{total} pictures'}, "
            f"{scale.passes} passes, {len(scale.jobs)} jobs at a time, {where()}"
        ]
        if not scale.full:
            said.append("a try: it shows that it runs, and says nothing about accuracy")
        said.extend(_verdicts(found))
        yield from _compared(found)

    return Figure(
        name="joader-accuracy",
        source="JOADER, appendix A.3",
        title="What a model learns, by the order of its rows",
        scale=lambda effort: (
            f"{'CIFAR-10' if data else 'made pictures'}"
            f"{'' if effort.size >= 10_000 else ', a try'}, "
            f"mean of {_Scale(effort).seeds} groups of {len(_Scale(effort).jobs)} jobs"
        ),
        case_label="what: joader's order",
        x_label="pass",
        y_label="loss",
        ours="joader",
        baseline="torch's loader",
        varies="ours",
        rows=rows,
        steps=lambda effort: _Scale(effort).seeds,
        panels={"loss": "pass", "accuracy": ""},
        notes=lambda effort: tuple(said),
    )


def _kept(pictures: Pictures, folder: Path, most: int | None) -> int:
    """Write arrays that all jobs map into their memory; return how many rows a pass has."""
    for part, its in (("train", pictures.train), ("test", pictures.test)):
        np.save(folder / f"{part}-x.npy", its.x[:most])
        np.save(folder / f"{part}-y.npy", its.y[:most])
    return len(pictures.train.y[:most])


def _compared(found: dict[str, list[Group]]) -> Iterator[Row]:
    losses = {
        side: np.mean([one["losses"] for one in groups], axis=0) for side, groups in found.items()
    }
    for side in SIDES[1:]:
        for number, (ours, torch) in enumerate(zip(losses[side], losses["torch"], strict=True), 1):
            yield Row(
                f"loss: order {side}", number, None, float(ours), float(torch), "training loss"
            )
    accuracy = {side: 100 * fmean(one["accuracy"] for one in found[side]) for side in SIDES}
    for side in SIDES[1:]:
        yield Row(
            *(f"accuracy: order {side}", 1, None, accuracy[side], accuracy["torch"]),
            "% of the test pictures",
        )


def _verdicts(found: dict[str, list[Group]]) -> Iterator[str]:
    means = {side: [100 * one["accuracy"] for one in groups] for side, groups in found.items()}
    last = {side: [one["losses"][-1] for one in groups] for side, groups in found.items()}
    for side in SIDES:
        spread = f" ± {stdev(means[side]):.2f}" if len(means[side]) > 1 else ""
        name = "torch's loader" if side == "torch" else f"order {side}"
        line = f"{name}: {fmean(means[side]):.2f}{spread} %, last loss {fmean(last[side]):.4f}"
        if side != "torch":
            line += f"; prepared ÷ delivered {fmean(one['ratio'] for one in found[side]):.2f}"
            if len(means[side]) > 1:
                line += (
                    f"; against torch's: p = {p_value(means['torch'], means[side]):.2f} "
                    f"(accuracy), {p_value(last['torch'], last[side]):.2f} (loss)"
                )
        yield line
