"""A job under test: reads passes over its rows, notes what it got, and goes on where it was killed.

What a job *read* is what it noted: a line of its log holds the rows of a batch and the state after
it, in one write. So a job that is killed has either read a batch and will go on after it, or
neither; each line is true whenever the job dies. Every sample is checked for its content.
"""

import gc
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np

import joader
from joader.client.reading import births, collate, connection
from tests.client import torch_stand_in
from tests.faults import family
from tests.faults.injector import Armed, Injector, around, in_channels
from tests.faults.offspring import in_offspring

SLOW_S = 2.5  # a row that takes longer than a daemon waits before it asks for the others back
CHILD_S = 300.0  # how long a user's child lives if nobody ends it
REAP_S = 1.0
TIMEOUT_S = 75.0  # then a job says what it waits for, and has failed


@dataclass(frozen=True)
class JobSpec:
    """What a job reads, and how."""

    name: str
    key: str
    rows: list[int]
    row_limit: int
    batch_size: int
    order: str = "shared"  # shared, seeded, given, told
    passes: int = 1
    own: bool = False
    ragged: bool = False
    deterministic: bool = False
    pause_s: float = 0.0
    cost_s: float = 0.0  # of preparing a row
    fallback: bool = False
    timeout_s: float = TIMEOUT_S
    leaves_after: int = 0  # batches, in the middle of a pass; 0: it reads to the end
    workers: int | None = None  # as torch's num_workers
    slow_row: int = -1  # takes SLOW_S
    child: str = ""  # "job", "worker": the user's code forks a process there that outlives it
    rank: int = 0
    world_size: int = 1


class Numbers:
    """Row i is an array that only row i has, and i itself; of differing lengths where ragged."""

    def __init__(self, spec: JobSpec) -> None:
        self.length, self.ragged, self.cost_s = spec.row_limit, spec.ragged, spec.cost_s
        self.slow_row = spec.slow_row

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[Any, int]:
        if self.cost_s or row == self.slow_row:
            time.sleep(SLOW_S if row == self.slow_row else self.cost_s)
        return content(row, self.ragged), row


class Forking(Numbers):
    """The same, and each worker has a child. What it reads for that changes between passes."""

    def __getitem__(self, row: int) -> tuple[Any, int]:
        if not _with_child:
            have_child()
        return super().__getitem__(row)


# Not in the dataset, which must not change when it is read: the processes that have a child.
_with_child: list[int] = []
_injectors: list[Injector] = []


def have_child() -> None:
    """Fork, as user code may: a child that leaves, and in a worker one that stays in its group."""
    in_worker = family.marked(os.getpid()).startswith("worker")
    for leaves in (True, False) if in_worker else (True,):
        if os.fork() == 0:
            if leaves:
                os.setsid()
                family.mark(family.CHILD)
            signal.alarm(int(CHILD_S))
            while True:
                time.sleep(1.0)
    _with_child.append(os.getpid())
    for injector in _injectors:
        injector.at("child", "after")


def content(row: int, ragged: bool) -> Any:
    length = 300 + (row * 97) % 1700 if ragged else 600
    return ((np.arange(length) * 7 + row * 13) % 251).astype(np.uint8)


def inverted(sample: tuple[Any, int]) -> tuple[Any, int]:
    return 255 - sample[0], sample[1]


def as_list(samples: list[Any]) -> list[Any]:
    return samples


def make_loader(spec: JobSpec) -> Any:
    """Return the job's loader; it reads a subset, in which rows may come twice."""
    dataset = Forking(spec) if spec.child == "worker" else Numbers(spec)
    order: dict[str, Any] = {"shuffle": spec.order in ("shared", "seeded")}
    if spec.order == "seeded":
        order |= {"order": "seeded", "seed": 1}
    if spec.order == "told":
        order = {"sampler": list(range(len(spec.rows)))[::-1]}
    subset = torch_stand_in if "torch" not in sys.modules else sys.modules["torch.utils.data"]
    return joader.DataLoader(
        subset.Subset(dataset, spec.rows),
        batch_size=spec.batch_size,
        **order,
        key=spec.key,
        transform=[inverted] if spec.own else (),
        collate_fn=as_list if spec.ragged else None,
        deterministic=spec.deterministic,
        as_numpy=True,
        timeout=spec.timeout_s,
        job="ranks" if spec.world_size > 1 else None,
        fallback=spec.fallback,
        **({} if spec.workers is None else {"num_workers": spec.workers}),
    )


def checked(batch: Any, spec: JobSpec) -> list[int]:
    """Return the rows of a batch; AssertionError where a sample is not what its row is."""
    samples = batch if spec.ragged else list(zip(batch[0], batch[1].tolist(), strict=True))
    for array, row in samples:
        wanted = content(row, spec.ragged)
        if not np.array_equal(array, 255 - wanted if spec.own else wanted):
            raise AssertionError(f"row {row} came with the content of something else: {array[:8]}")
    return [int(row) for _, row in samples]


class Log:
    """The lines of a job's log, whole or not there."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, **values: Any) -> None:
        os.write(self._descriptor, f"{json.dumps(values)}\n".encode())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(spec: JobSpec, log_path: Path, armed: Armed) -> None:
    """Be the job, from where its log ends; returns when all passes are read, or raises."""
    if "torch" not in sys.modules:
        sys.modules["torch.utils.data.dataset"] = torch_stand_in
        torch_stand_in.Subset.__module__ = "torch.utils.data.dataset"  # as it is known by
    else:  # torch's own workers have queues; what Python starts for these is not the loader's
        resource_tracker.ensure_running()
    # A life is spawned, and would have its jobs spawn their nurseries: nothing would be wrapped.
    multiprocessing.set_start_method("fork", force=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    injector = Injector(armed, "job", spec.name)
    injector.become("job")
    _injectors[:] = [injector]
    in_channels(injector)
    in_offspring(injector)
    around(injector, "welcome", connection, "welcomed")
    around(injector, "gather", collate, "copy")
    around(injector, "leave", connection.Connection, "close")
    states = [line["state"] for line in lines(log_path) if "state" in line]
    log = Log(log_path)
    before = _held()
    loader = make_loader(spec)
    if states:
        loader.load_state_dict(states[-1])
    _read(spec, loader, states[-1]["epoch"] if states else 0, log, injector)
    loader.close()
    by_itself = loader.stats().fallback
    loader = None
    gc.collect()
    log.note(held_before=before, held_after=_held(), by_itself=by_itself)


def _read(spec: JobSpec, loader: Any, first: int, log: Log, injector: Injector) -> None:
    batches = 0
    for epoch in range(first, spec.passes):
        for batch in loader:
            rows = checked(batch, spec)
            log.note(epoch=epoch, rows=rows, state=loader.state_dict())
            batches += 1
            if spec.child == "job" and not _with_child:
                have_child()
            if batches == spec.leaves_after:
                return
            if spec.pause_s:
                time.sleep(spec.pause_s)
        injector.at("epoch end", "before")
        log.note(ended=epoch)
        injector.at("epoch end", "after")


def _held() -> list[int]:
    """Return how many descriptors are open, and how many mappings of an arena there are.

    A nursery that was told to end has two until it is reaped, which takes what it takes.
    """
    deadline = time.monotonic() + REAP_S
    while births._ending and time.monotonic() < deadline:
        time.sleep(0.01)
        births._reap()
    maps = Path("/proc/self/maps").read_text().count("joader-arena")
    return [len(os.listdir("/proc/self/fd")) - 2 * len(births._ending), maps]


def fork(spec: JobSpec, log_path: Path, armed: Armed, runtime: Path) -> int:
    """Start the job in a process of its own, and return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ["JOADER_RUNTIME"] = str(runtime)
        if spec.world_size > 1:
            os.environ |= {"RANK": str(spec.rank), "WORLD_SIZE": str(spec.world_size)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": spec.key}
        said = os.open(runtime / "jobs.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.dup2(said, 2)
        os.close(said)
        run(spec, log_path, armed)
        code = 0
    except BaseException:
        Log(log_path).note(error=traceback.format_exc())
    finally:
        os._exit(code)
