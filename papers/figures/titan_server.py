"""The server of the JOADER paper: how long epochs take there, given what the engine prepares.

A job that is never short of data takes its GPU's time. An epoch costs CPU time besides: a *shared*
part for each epoch's worth of rows that is prepared, and an *own* part for each that is delivered
(collating, copying). With load = CPU minutes that all jobs ask for per minute, everybody is slowed
down by (1 + load**k) ** (1/k): not at all while it is small, in proportion to it when cores are
short. The four numbers are fitted to Table 1's *baselines*, PyTorch and CoorDL, alone.

What is prepared comes from the engine: jobs that load by themselves prepare all that they read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

JOBS = (1, 2, 3, 4, 5, 6)
PYTORCH = (31.74, 35.01, 40.04, 52.11, 57.67, 67.85)  # minutes per epoch, Table 1
COORDL = (32.82, 31.73, 32.73, 34.76, 35.28, 37.98)
JOADER = (32.70, 32.49, 33.72, 36.32, 37.44, 37.55)
ROW_BYTES = 110e3  # of ImageNet's 1.28 million rows
ROWS = 1_281_167


@dataclass(frozen=True)
class Server:
    """Minutes of a ResNet18 epoch: on the GPU, of all cores for preparing, and for the rest."""

    gpu_min: float
    shared_min: float
    own_min: float
    bend: float  # k: how suddenly jobs get slower when cores run short

    def cpu_min(self, prepared: float) -> float:
        """Return the CPU minutes of an epoch of which this part is prepared for the job."""
        return self.shared_min * prepared + self.own_min

    def slowdown(self, load: float) -> float:
        """Return how many times as long as its GPU needs an epoch takes under this load."""
        return float((1 + load**self.bend) ** (1 / self.bend))


@dataclass(frozen=True)
class Trainer:
    """A job: when it starts, its minutes per epoch on the GPU and of CPU, and its epochs."""

    gpu_min: float
    cpu_min: float
    start_min: float = 0.0
    epochs: float = 1.0


@dataclass(frozen=True)
class Stretch:
    """A time in which the same jobs run."""

    start_min: float
    end_min: float
    cpu_use: float
    running: tuple[int, ...]


@cache
def fitted() -> Server:
    """Return the server of Table 1: the least squares of relative errors, on a grid, then finer."""
    center, width = np.array([32.0, 8.0, 3.5, 3.5]), np.array([3.0, 6.0, 3.0, 2.0])
    for _ in range(6):
        axes = [np.linspace(c - w, c + w, 13) for c, w in zip(center, width, strict=True)]
        gpu, shared, own, bend = (np.maximum(a, 0.05) for a in np.meshgrid(*axes, indexing="ij"))
        error = np.zeros(gpu.shape)
        for jobs, alone, lockstep in zip(JOBS, PYTORCH, COORDL, strict=True):
            for prepared, minutes in ((jobs, alone), (1, lockstep)):
                load = (shared * prepared + own * jobs) / gpu
                found = gpu * (1 + load**bend) ** (1 / bend)
                error += (found / minutes - 1) ** 2
        best = np.unravel_index(int(error.argmin()), error.shape)
        center = np.array([a[best] for a in (gpu, shared, own, bend)])
        width = width / 3
    return Server(*(float(value) for value in center))


def stretches(server: Server, jobs: Sequence[Trainer]) -> Iterator[Stretch]:
    """Let the jobs run, each as fast as its GPU and the cores let it, until all are done."""
    left = {number: job.epochs for number, job in enumerate(jobs)}
    now = min(job.start_min for job in jobs)
    while left:
        running = tuple(number for number in left if jobs[number].start_min <= now)
        starts = [jobs[number].start_min for number in left if number not in running]
        load = sum(jobs[number].cpu_min / jobs[number].gpu_min for number in running)
        slowdown = server.slowdown(load)
        takes = {number: left[number] * jobs[number].gpu_min * slowdown for number in running}
        end = min([now + minutes for minutes in takes.values()] + starts)
        yield Stretch(now, end, load / slowdown, running)
        for number in running:
            left[number] -= (end - now) / (jobs[number].gpu_min * slowdown)
            if left[number] < 1e-9:
                del left[number]
        now = end


def lifetimes(jobs: Sequence[Trainer], parts: Sequence[Stretch]) -> list[float]:
    """Return for how many minutes each job was there."""
    ends = {number: part.end_min for part in parts for number in part.running}
    return [ends[number] - job.start_min for number, job in enumerate(jobs)]


def mean_use(parts: Sequence[Stretch]) -> float:
    """Return the mean CPU use, 1 if no core is ever idle."""
    busy = sum(part.cpu_use * (part.end_min - part.start_min) for part in parts)
    return busy / (parts[-1].end_min - parts[0].start_min)


def describe(effort: object = None) -> tuple[str, ...]:
    """Say what was fitted, for people."""
    server = fitted()
    return (
        f"fitted to Table 1's PyTorch and CoorDL columns: {server.gpu_min:.1f} GPU minutes per "
        f"ResNet18 epoch; minutes of all cores: {server.shared_min:.1f} to prepare the rows once, "
        f"{server.own_min:.1f} per job for the rest; bend {server.bend:.1f}",
    )
