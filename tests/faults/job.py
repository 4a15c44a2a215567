"""A job under test: reads passes over its rows, notes what it got, and goes on where it was killed.

What a job *read* is what it noted: a line of its log holds the rows of a batch and the state after
it, in one write. So a job that is killed has either read a batch and will go on after it, or
neither; each line is true whenever the job dies. Every sample is checked for its content.
"""

import gc
import json
import os
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import joader
from joader.client import collating, connection
from tests.client import torch_stand_in
from tests.faults.injector import Armed, Injector, around, in_channels


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
    leaves_after: int = 0  # batches, in the middle of a pass; 0: it reads to the end


class Numbers:
    """Row i is an array that only row i has, and i itself; of differing lengths where ragged."""

    def __init__(self, length: int, ragged: bool, cost_s: float) -> None:
        self.length, self.ragged, self.cost_s = length, ragged, cost_s

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[Any, int]:
        if self.cost_s:
            time.sleep(self.cost_s)
        return content(row, self.ragged), row


def content(row: int, ragged: bool) -> Any:
    length = 300 + (row * 97) % 1700 if ragged else 600
    return ((np.arange(length) * 7 + row * 13) % 251).astype(np.uint8)


def inverted(sample: tuple[Any, int]) -> tuple[Any, int]:
    return 255 - sample[0], sample[1]


def as_list(samples: list[Any]) -> list[Any]:
    return samples


def make_loader(spec: JobSpec) -> Any:
    """Return the job's loader; it reads a subset, in which rows may come twice."""
    dataset = Numbers(spec.row_limit, spec.ragged, spec.cost_s)
    order: dict[str, Any] = {"shuffle": spec.order in ("shared", "seeded")}
    if spec.order == "seeded":
        order |= {"order": "seeded", "seed": 1}
    if spec.order == "told":
        order = {"sampler": list(range(len(spec.rows)))[::-1]}
    return joader.DataLoader(
        torch_stand_in.Subset(dataset, spec.rows),
        batch_size=spec.batch_size,
        **order,
        key=spec.key,
        transform=[inverted] if spec.own else (),
        collate_fn=as_list if spec.ragged else None,
        deterministic=spec.deterministic,
        as_numpy=True,
        fallback=spec.fallback,
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


def run(spec: JobSpec, log_path: Path, armed: Armed | None) -> None:
    """Be the job, from where its log ends; returns when all passes are read, or raises."""
    sys.modules["torch.utils.data.dataset"] = torch_stand_in
    injector = Injector(armed, "job", spec.name) if armed else None
    if injector is not None:
        in_channels(injector)
        around(injector, "welcome", connection, "_welcome")
        around(injector, "gather", collating, "copy")
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


def _read(spec: JobSpec, loader: Any, first: int, log: Log, injector: Injector | None) -> None:
    batches = 0
    for epoch in range(first, spec.passes):
        for batch in loader:
            rows = checked(batch, spec)
            log.note(epoch=epoch, rows=rows, state=loader.state_dict())
            batches += 1
            if batches == spec.leaves_after:
                return
            if spec.pause_s:
                time.sleep(spec.pause_s)
        if injector is not None:
            injector.at("epoch end", "before")
        log.note(ended=epoch)
        if injector is not None:
            injector.at("epoch end", "after")


def _held() -> list[int]:
    """Return how many descriptors are open, and how many mappings of an arena there are."""
    maps = Path("/proc/self/maps").read_text().count("joader-arena")
    return [len(os.listdir("/proc/self/fd")), maps]


def fork(spec: JobSpec, log_path: Path, armed: Armed | None, runtime: Path) -> int:
    """Start the job in a process of its own, and return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ["JOADER_RUNTIME"] = str(runtime)
        said = os.open(runtime / "jobs.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.dup2(said, 2)
        os.close(said)
        run(spec, log_path, armed)
        code = 0
    except BaseException:
        Log(log_path).note(error=traceback.format_exc())
    finally:
        os._exit(code)
