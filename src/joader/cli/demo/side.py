"""One half of the demo: the same training in several processes at once, with one of the loaders.

All jobs have started and imported what they need before the clock starts; the worker processes,
torch's and joader's, start after it. A file gets a byte for every picture that is decoded, by any
process: its size is the number of pictures prepared.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from joader.cli.demo.processes import (
    Process,
    Processes,
    adopting_orphans,
    children,
    cpu_seconds,
    ended_cpu_seconds,
    wait_for_orphans,
)
from joader.daemon.lifecycle import connected
from joader.errors import Overdue

TORCH_LINE = "from torch.utils.data import DataLoader"
JOADER_LINE = "from joader import DataLoader"
_LOOK_S = 0.1
_START_S = 120.0
_MEMORY = "256MiB"
_IDLE_S = 30


@dataclass(frozen=True)
class Plan:
    """What to run: the same on both sides."""

    pictures: int
    jobs: int
    epochs: int

    @property
    def learning_rates(self) -> list[float]:
        """One per job: the jobs are a search for the best one."""
        return [0.0005 * 2**number for number in range(self.jobs)]

    @property
    def workers_per_job(self) -> int:
        """Worker processes per torch loader: enough to use all cores, at least one each."""
        return max(1, len(os.sched_getaffinity(0)) // self.jobs)


@dataclass
class Job:
    """A job as the demo sees it: what it has said so far."""

    name: str
    of: int
    ready: bool = False
    epoch: int = 0
    samples: int = 0
    loss: float = 0.0
    accuracy: float = 0.0
    seconds: float = 0.0  # of the whole, when it has ended
    cpu_at_start: float = 0.0  # what its start took, which is not counted
    started: float = 0.0

    def hear(self, line: str) -> None:
        """Process a line of JSON from the job."""
        for name, value in json.loads(line).items():
            setattr(self, name, value)

    @property
    def rate(self) -> float:
        """Samples per second, so far or overall."""
        passed = self.seconds or time.perf_counter() - self.started
        return self.samples / passed if self.started and passed else 0.0


@dataclass
class Side:
    """The jobs of one side, and their results."""

    name: str
    line: str
    jobs: list[Job]
    prepared: int = 0
    cpu: float = 0.0  # seconds of all jobs and all that prepared for them
    ended: bool = field(default=False, compare=False)

    @property
    def delivered(self) -> int:
        """Samples that all jobs got."""
        return sum(job.samples for job in self.jobs)

    @property
    def seconds(self) -> float:
        """From the start to the end of the last job."""
        return max(job.seconds for job in self.jobs)

    @property
    def rate(self) -> float:
        """Samples per second of all jobs together."""
        return self.delivered / self.seconds


def new_side(name: str, plan: Plan) -> Side:
    """Return a side on which nothing has happened yet."""
    rates = enumerate(plan.learning_rates, 1)
    jobs = [Job(f"job {n}, lr {rate:g}", plan.epochs * plan.pictures) for n, rate in rates]
    return Side(name, JOADER_LINE if name == "joader" else TORCH_LINE, jobs)


def run(side: Side, plan: Plan, folder: Path, on_look: Callable[[], None]) -> None:
    """Run the jobs of a side to their end; `on_look` is called often while they run."""
    script = Path(__file__).with_name("train.py").read_text()
    (folder / f"train_{side.name}.py").write_text(script.replace(TORCH_LINE, side.line))
    tally = folder / f"prepared_{side.name}"
    tally.touch()
    others, used = set(children()), ended_cpu_seconds()
    with adopting_orphans(), closing(Processes(folder)) as processes:
        started = [_start(processes, side.name, number, plan) for number in range(plan.jobs)]
        listeners = [
            Thread(target=_listen, args=(process, job), daemon=True)
            for process, job in zip(started, side.jobs, strict=True)
        ]
        for listener in listeners:
            listener.start()
        wait(lambda: all(job.ready for job in side.jobs), processes, on_look, _START_S)
        daemon = (
            start_daemon(processes, folder, _MEMORY, on_look) if side.name == "joader" else None
        )
        before = cpu_seconds(daemon.pid) if daemon else 0.0
        for process, job in zip(started, side.jobs, strict=True):
            assert process.stdin is not None
            job.started = time.perf_counter()
            process.stdin.write("go\n")
            process.stdin.flush()
        wait(lambda: not any(each.is_alive() for each in listeners), processes, on_look)
        for process in started:
            process.wait()
        processes.check()
        wait_for_orphans(but={*others, daemon.pid} if daemon else others)
        side.cpu = ended_cpu_seconds() - used - sum(job.cpu_at_start for job in side.jobs)
        if daemon is not None:
            side.cpu += cpu_seconds(daemon.pid) - before
        side.prepared = tally.stat().st_size
        side.ended = True


def _start(processes: Processes, name: str, number: int, plan: Plan) -> Process:
    folder = processes.folder
    return processes.start(
        f"{name}-{number}",
        [
            *(f"train_{name}.py", "pictures", f"--epochs={plan.epochs}"),
            *(f"--learning-rate={plan.learning_rates[number]}", f"--tally=prepared_{name}"),
            f"--workers={plan.workers_per_job}",
        ],
        JOADER_RUNTIME=str(folder),
    )


def _listen(process: Process, job: Job) -> None:
    for line in process.stdout or ():
        job.hear(line)


def start_daemon(
    processes: Processes, folder: Path, memory: str, on_look: Callable[[], None] = lambda: None
) -> Process:
    """Start a daemon of its own in this folder, so that the user's is left alone."""
    path = folder / "daemon.sock"
    process = processes.start(
        "daemon",
        [
            *("-m", "joader.daemon.main", f"--socket={path}"),
            *(f"--memory={memory}", f"--idle={_IDLE_S}"),
        ],
    )

    def listens() -> bool:
        sock = connected(path)
        if sock is not None:
            sock.close()
        return sock is not None

    wait(listens, processes, on_look, _START_S)
    return process


def wait(
    condition: Callable[[], Any],
    processes: Processes,
    on_look: Callable[[], None],
    limit_s: float | None = None,
) -> None:
    """Wait for a condition, looking at the jobs meanwhile."""
    deadline = time.monotonic() + limit_s if limit_s else float("inf")
    while not condition():
        processes.check()
        if time.monotonic() > deadline:
            raise Overdue(f"the demo's processes have not started within {limit_s:.0f} s")
        on_look()
        time.sleep(_LOOK_S)
    on_look()
