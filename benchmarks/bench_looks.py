"""How long a look at a dataset takes: the first one, and the next with nothing changed.

    python benchmarks/bench_looks.py [--rounds 5] [--samples 1280000] [--gib 2]

Each round looks with a new memory and then again with the same; the figures are the median and the
worst over all rounds. A job looks before each pass, so the second column is what a pass waits. The
third is what a job without workers looks at before each batch, here of 64 rows, in microseconds.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import machine, report

from joader.recipe.fingerprint import Memory, look
from joader.recipe.glance import Glance


class Dataset:
    def __init__(self, state: Any) -> None:
        self.state = state

    def __getitem__(self, row: int) -> Any:
        return self.state[row]


def path(number: int) -> str:
    return f"/data/imagenet/train/n{number % 1000:08d}/n{number % 1000:08d}_{number}.JPEG"


def cases(samples: int, gib: float) -> Iterator[tuple[str, Callable[[], Any]]]:
    millions = f"{samples / 1e6:.3g} M"
    count = range(samples)
    yield "a small object", lambda: {"size": 224}
    yield "50,000 (path, label) tuples", lambda: [(path(n), n % 1000) for n in range(50_000)]
    yield f"{millions} (path, label) tuples", lambda: [(path(n), n % 1000) for n in count]
    yield f"{millions} labels", lambda: [n % 1000 for n in count]
    yield f"{millions} keys of a dict", lambda: {path(n): n for n in count}
    yield f"{millions} names in a set", lambda: {path(n) for n in count}
    yield f"{millions} [path, label] lists", lambda: [[path(n), n % 1000] for n in count]
    yield f"{millions} dicts", lambda: [{"path": path(n), "label": n % 1000} for n in count]
    size = int(gib * 2**30)
    yield f"{gib:g} GiB in one array", lambda: np.random.default_rng(0).integers(0, 256, size, "u1")
    yield (
        f"{gib:g} GiB in 1,000 arrays",
        lambda: list(np.random.default_rng(0).integers(0, 256, (1000, size // 1000), "u1")),
    )


def measured(dataset: Dataset, rounds: int) -> tuple[list[float], list[float]]:
    first, second = [], []
    for _ in range(rounds):
        memory = Memory()
        names = set()
        for times in (first, second):
            started = time.perf_counter()
            names.add(look(dataset, memory=memory, max_lines=100).name)
            times.append(time.perf_counter() - started)
        assert len(names) == 1
    return first, second


def glanced(dataset: Dataset) -> float:
    """Return how long a look before a batch takes, in seconds."""
    length = len(dataset.state)
    glance = Glance(dataset, length)
    rows = np.random.default_rng(0).integers(0, length, 64)
    times = []
    for _ in range(101):
        started = time.perf_counter()
        assert not glance.change() + glance.change_of(rows)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1_280_000)
    parser.add_argument("--gib", type=float, default=2)
    args = parser.parse_args()
    where = machine()
    print(where)
    print(
        f"{'median of ' + str(args.rounds) + ' (worst), s':34}{'first look':>16}{'second':>18}"
        f"{'a batch, µs':>14}"
    )
    rows: list[dict[str, object]] = []
    for name, make in cases(args.samples, args.gib):
        dataset = Dataset(make())
        times = measured(dataset, args.rounds)
        batch_s = glanced(dataset)
        medians = [statistics.median(one) for one in times]
        cells = [f"{m:.4f} ({max(one):.4f})" for m, one in zip(medians, times, strict=True)]
        print(f"{name:34}{cells[0]:>18}{cells[1]:>18}{1e6 * batch_s:>14.1f}", flush=True)
        worst = [max(one) for one in times]
        first_s, second_s = medians
        rows.append({"what": name, "first_s": first_s, "second_s": second_s, "worst_s": worst})
        rows[-1]["batch_s"] = batch_s
    report("looks", where, "look() with a new memory, then again with the same", rows)


if __name__ == "__main__":
    main()
