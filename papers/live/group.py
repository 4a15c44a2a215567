"""Real jobs at once, with torch's loader or with a daemon of their own, and what they cost.

Jobs have started and imported what they need before the clock starts. Processors are counted for
jobs, workers and daemon together, from that moment on.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joader.cli.demo.pictures import write_pictures
from joader.cli.demo.processes import (
    Process,
    Processes,
    adopting_orphans,
    children,
    cpu_seconds,
    ended_cpu_seconds,
    interrupted_by_signals,
    wait_for_orphans,
)
from joader.cli.demo.side import start_daemon
from joader.errors import WorldError
from papers.figure import Effort

BATCH = 8
MEMORY = 0.05  # room for so many of the pictures, as in the simulated figures
PICTURE_BYTES = 224 * 224 * 3
TAKES = 0.25  # of all cores, by one job that is never short of data


@dataclass(frozen=True)
class Paced:
    """A job: its rows, how many times as long as the first it trains, when it comes, its epochs."""

    first: int
    last: int
    slower: float = 1.0
    start: float = 0.0  # in passes of the first
    epochs: int = 1


@dataclass(frozen=True)
class Outcome:
    """Seconds of each job, of all of them from the first's start, and of processors; prepared."""

    seconds: list[float]
    wall_s: float
    cpu_s: float
    prepared: int

    @property
    def use(self) -> float:
        """Which part of all cores was busy, in percent."""
        return 100 * self.cpu_s / self.wall_s / cores()


def cores() -> int:
    """Return how many cores there are for us."""
    return len(os.sched_getaffinity(0))


def pictures_of(effort: Effort) -> int:
    """Return how many pictures a pass has."""
    return 480 if effort.size >= 10_000 else 120


@dataclass(frozen=True)
class Place:
    """A folder with pictures, and how long one takes to prepare here."""

    folder: Path
    pictures: int
    row_s: float

    @property
    def gpu_s(self) -> float:
        """What a pass takes the first job's GPU: preparing takes TAKES of all cores meanwhile."""
        return self.pictures * self.row_s / cores() / TAKES


@contextmanager
def place(pictures: int) -> Iterator[Place]:
    """Make so many pictures, measure what one takes, and remove them at the end."""
    from papers.live.paced_job import Photos

    with (
        interrupted_by_signals(),
        tempfile.TemporaryDirectory(prefix="joader-live-", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        (folder / "pictures").mkdir()
        for _ in write_pictures(folder / "pictures", range(pictures)):
            pass
        photos = Photos(str(folder / "pictures"), os.devnull)
        some = range(min(pictures, 40))
        photos[0]
        begun = time.thread_time()
        for row in some:
            photos[row]
        yield Place(folder, pictures, (time.thread_time() - begun) / len(some))


def run(here: Place, loader: str, jobs: Sequence[Paced], number: int) -> Outcome:
    """Let the jobs train to their end; `number` tells runs apart."""
    folder = here.folder / f"run-{number}"
    folder.mkdir(mode=0o700)
    tally = folder / "prepared"
    tally.touch()
    others, used = set(children()), ended_cpu_seconds()
    with adopting_orphans(), closing(Processes(folder)) as processes:
        daemon = None
        if loader != "torch":
            room = max(MEMORY * here.pictures, 4 * BATCH * len(jobs)) * PICTURE_BYTES
            daemon = start_daemon(processes, folder, f"{room:.0f}")
        started = [_start(processes, loader, job, here, tally) for job in jobs]
        begun_s = sum(_heard(process, processes)["used_s"] for process in started)
        before = cpu_seconds(daemon.pid) if daemon else 0.0
        begun = time.perf_counter()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        seconds = [float(_heard(process, processes)["seconds"]) for process in started]
        wall_s = time.perf_counter() - begun
        for process in started:
            process.wait()
        wait_for_orphans(but={*others, daemon.pid} if daemon else others)
        cpu_s = ended_cpu_seconds() - used - begun_s
        if daemon is not None:
            cpu_s += cpu_seconds(daemon.pid) - before
    return Outcome(seconds, wall_s, cpu_s, tally.stat().st_size)


def _start(processes: Processes, loader: str, job: Paced, here: Place, tally: Path) -> Process:
    its = {
        "folder": str(here.folder / "pictures"),
        "tally": str(tally),
        "loader": loader,
        "first": job.first,
        "last": job.last,
        "batch": BATCH,
        "workers": max(1, cores() // 2),
        "row_s": here.gpu_s / here.pictures * job.slower,
        "start_s": job.start * here.gpu_s,
        "epochs": job.epochs,
    }
    command = ["-m", "papers.live.paced_job", json.dumps(its)]
    return processes.start(
        "job", command, JOADER_RUNTIME=str(processes.folder), OMP_NUM_THREADS="1"
    )


def _heard(process: Process, processes: Processes) -> dict[str, Any]:
    """Return the next line of a job."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait()
        processes.check()
        raise WorldError("a job ended before it had said anything")
    found: dict[str, Any] = json.loads(line)
    return found
