"""Reads rows in so many processes at once for a moment, and says what came of it.

Not through a daemon: the question is what the machine gives to d workers that never wait for orders
(A-Dloader Fig. 5). Workers are forked, warm up, wait for each other, and read rows of their own.
"""

import gc
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from joader.errors import Overdue, WorldError
from joader.workers.clock import Clock
from papers.models.runs import LoadingRun

_WARM_ROWS = 2
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Rows:
    """What is read: a recipe's name, how many rows it has, and what reads one."""

    recipe: str
    count: int
    read: Callable[[int], Any]


class _Part(NamedTuple):
    rows: int
    seconds: float
    computed_s: float
    waited_s: float
    sample_bytes: int


def run(rows: Rows, workers: int, seconds: float) -> LoadingRun:
    """Have so many workers read for so long."""
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe() for _ in range(workers)]
    started = [
        fork.Process(target=_work, args=(rows, number, workers, seconds, pipes[number][1]))
        for number in range(workers)
    ]
    try:
        for process in started:
            process.start()
        for ours, theirs in pipes:
            theirs.close()
            _answer(ours)
        for ours, _ in pipes:
            ours.send(None)
        return _run(rows.recipe, [_answer(ours) for ours, _ in pipes])
    finally:
        for process in started:
            if process.pid is not None:
                process.join(1.0)
                process.kill()
                process.join()
        for ours, _ in pipes:
            ours.close()


def counts(cores: int, quick: bool) -> list[int]:
    """Return how many workers are tried: all few, then every other, beyond the cores, too."""
    most = cores + max(2, cores // 2)
    step = max(1, most // (6 if quick else 16))
    return sorted({1, 2, *range(1, most + 1, step), cores, most})


def _answer(pipe: Connection) -> Any:
    if not pipe.poll(_PATIENCE_S):
        raise Overdue(f"a worker has read no row within {_PATIENCE_S:.0f} s")
    try:
        found = pipe.recv()
    except EOFError as error:
        raise WorldError("a worker ended while it read rows") from error
    if isinstance(found, str):
        raise WorldError(f"a row could not be read: {found}")
    return found


def _run(recipe: str, parts: Sequence[_Part]) -> LoadingRun:
    done = sum(part.rows for part in parts)
    wall_s = sum(part.seconds for part in parts)
    waited_s = sum(part.waited_s for part in parts)
    return LoadingRun(
        recipe=recipe,
        sample_bytes=round(statistics.median(part.sample_bytes for part in parts)),
        workers=len(parts),
        rows_per_s=sum(part.rows / part.seconds for part in parts),
        read_s=waited_s / done,
        prepare_s=(wall_s - waited_s) / done,
        computed_s=sum(part.computed_s for part in parts) / done,
    )


def _work(rows: Rows, number: int, workers: int, seconds: float, pipe: Connection) -> None:
    """Be a worker."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # as torch's own workers do
    gc.freeze()
    order = np.random.default_rng(number).permutation(rows.count).tolist()
    try:
        sizes = [size_of(rows.read(row)) for row in order[:_WARM_ROWS]]
        pipe.send(None)
        pipe.recv()
        clock, begun, done = Clock(), time.perf_counter(), 0
        while (passed := time.perf_counter() - begun) < seconds:
            rows.read(order[done % len(order)])
            done += 1
        spent = clock.spent(passed)
        pipe.send(_Part(done, passed, *spent, max(1, round(statistics.median(sizes)))))
    except (KeyboardInterrupt, BrokenPipeError):
        return
    except Exception as error:
        with suppress(OSError):
            pipe.send(f"{type(error).__name__}: {error}")


def size_of(sample: Any) -> int:
    """Return the bytes of a sample, as far as they are in arrays, tensors and strings."""
    if isinstance(sample, dict):
        return sum(map(size_of, sample.values()))
    if isinstance(sample, list | tuple):
        return sum(map(size_of, sample))
    if isinstance(sample, bytes | str):
        return len(sample)
    size = getattr(sample, "nbytes", None)
    return int(size) if isinstance(size, int) else 8
