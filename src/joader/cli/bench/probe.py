"""Runs a training script for some seconds and measures the first loader that it iterates over.

A process of its own: `python -m joader.cli.bench.probe MODE SECONDS REPORT SCRIPT [ARGUMENT...]`.
The script is not changed; the loader's `__iter__` is. By `MODE` it gives
- *fresh*: what it would give;
- *cached*: the rows of the first seconds, again and again: they are in the page cache by then;
- *synthetic*: its first batch, again and again: loading costs nothing;
- *joader*: what joader's loader gives in the place of torch's.

Batches are counted after a warm-up; when the time is up the report is written and the process ends.
"""

import json
import os
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODES = ("fresh", "cached", "synthetic", "joader")
_LEAST_BATCHES = 3
# Until workers are up and a loader's first batches, which were prepared ahead, are gone.
_WARM_S = 2.0


class Meter:
    """Counts what a loader gives after its warm-up, and how long the script waited for it."""

    def __init__(self, seconds: float, report: Path, loader: str) -> None:
        """Write the report after so many seconds."""
        self._seconds, self._report, self._loader = seconds, report, loader
        self._begun = time.perf_counter()
        self._from: float | None = None
        self._batches = self._samples = 0
        self._wait_s = 0.0

    def note(self, batch: Any, wait_s: float) -> None:
        """Count a batch; end the process if the time is up."""
        now = time.perf_counter()
        if self._from is None:
            self._batches += 1
            if self._batches >= _LEAST_BATCHES and now - self._begun >= _WARM_S:
                self._from, self._batches = now, 0
            return
        self._batches += 1
        self._samples += samples_in(batch)
        self._wait_s += wait_s
        if now - self._from >= self._seconds:
            self.write()
            os._exit(0)  # workers and daemons see that by themselves

    def write(self) -> None:
        """Write what was measured so far."""
        passed = time.perf_counter() - self._from if self._from is not None else 0.0
        figures = {
            "loader": self._loader,
            "batches": self._batches if self._from is not None else 0,
            "samples": self._samples,
            "seconds": passed,
            "wait_s": self._wait_s,
        }
        self._report.write_text(json.dumps(figures))


def samples_in(batch: Any) -> int:
    """Return how many samples a batch has: the length of the first thing in it that has one."""
    if isinstance(batch, dict):
        batch = next(iter(batch.values()), ())
    if isinstance(batch, list | tuple) and batch and not isinstance(batch[0], str | int | float):
        return samples_in(batch[0])
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return len(batch) if hasattr(batch, "__len__") else 1


class Recorded:
    """A batch sampler that repeats what it gave in the first seconds."""

    def __init__(self, inner: Any) -> None:
        """Record what this one gives."""
        self._inner, self._seen = inner, []  # type: ignore[var-annotated]

    def __iter__(self) -> Iterator[Any]:
        """Give new rows for a while, and then those again and again."""
        until = time.perf_counter() + _WARM_S
        for batch in self._inner:
            self._seen.append(batch)
            yield batch
            if time.perf_counter() > until:
                break
        while self._seen:
            yield from self._seen


def measured(loader: Any, begin: Any, mode: str, meter: Meter) -> Iterator[Any]:
    """Give what a loader's own `__iter__` (`begin`) would, or what the mode says, and count it."""
    if mode == "synthetic":
        batch = next(begin(loader))
        while True:
            meter.note(batch, 0.0)
            yield batch
    passing = begin(_repeating(loader) if mode == "cached" else loader)
    while True:
        started = time.perf_counter()
        try:
            batch = next(passing)
        except StopIteration:
            return
        meter.note(batch, time.perf_counter() - started)
        yield batch


def _repeating(loader: Any) -> Any:
    from torch.utils.data import DataLoader

    if loader.batch_sampler is None:
        sys.exit("joader: its rows cannot be repeated: it has no batch sampler")
    return DataLoader(
        loader.dataset,
        batch_sampler=Recorded(loader.batch_sampler),  # type: ignore[arg-type, unused-ignore]
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        prefetch_factor=loader.prefetch_factor,
    )


def put_in_place(mode: str, seconds: float, report: Path) -> None:
    """Have the first loader that is iterated over measured."""
    import torch.utils.data as data

    import joader

    theirs, ours = data.DataLoader, joader.DataLoader
    if mode == "joader":
        data.DataLoader = data.dataloader.DataLoader = ours  # type: ignore[misc, unused-ignore]
    meters: dict[int, Meter] = {}

    def wrap(kind: Any) -> None:
        begin = kind.__iter__

        def iterate(loader: Any) -> Iterator[Any]:
            if not meters:
                name = "joader" if isinstance(loader, ours) else "torch"
                meters[id(loader)] = Meter(seconds, report, name)
            meter = meters.get(id(loader))
            if meter is None:
                return begin(loader)  # type: ignore[no-any-return]
            return measured(loader, begin, mode, meter)

        kind.__iter__ = iterate

    wrap(theirs)
    wrap(ours)


def main() -> None:
    """Run the script."""
    mode, seconds, report, script, *arguments = sys.argv[1:]
    put_in_place(mode, float(seconds), Path(report))
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    sys.exit("joader: the script ended before enough of its batches could be measured")


if __name__ == "__main__":
    main()
