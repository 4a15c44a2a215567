"""What one loader of a script gives in each way, one way after the other, over all its passes.

A pass is cut short when all ways are measured, so the script goes on to its next loader. A script
may leave a pass before that: then the next pass goes on where this one was left.

Not here: which loaders there are, and when the script has shown enough (probe.py).
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Until workers are up and a loader's first batches, which were prepared ahead, are gone.
WARM_S = 2.0
# One batch again and again varies little, and needs no workers.
_LESS_SYNTHETIC = 0.5
_LEAST_BATCHES = 3

Begin = Callable[[Any], Iterator[Any]]


@dataclass
class Way:
    """One way to feed the script: its warm-up, and what was counted after that."""

    mode: str
    seconds: float
    warm_s: float
    batches: int = 0
    samples: int = 0
    passed_s: float = 0.0
    warmed: int = 0  # batches of the warm-up
    possible: bool = True

    @property
    def done(self) -> bool:
        """Whether it needs no further batch."""
        enough = self.passed_s >= self.seconds and self.batches >= _LEAST_BATCHES
        return enough or not self.possible

    def note(self, batch: Any, passed_s: float) -> None:
        """Count a batch, so long after the one before."""
        if self.warm_s > 0 or self.warmed < _LEAST_BATCHES:
            self.warm_s -= passed_s
            self.warmed += 1
            return
        self.batches += 1
        self.samples += samples_in(batch)
        self.passed_s += passed_s

    @property
    def per_s(self) -> float | None:
        """Samples per second; None if it was not measured."""
        return self.samples / self.passed_s if self.samples and self.passed_s else None


@dataclass
class Meter:
    """One loader of the script."""

    loader: Any
    name: str
    ways: list[Way]
    rows: int | None = None  # of a pass
    latest: list[Any] = field(default_factory=list)  # the batch that came last

    @property
    def done(self) -> bool:
        """Whether all ways are measured."""
        return all(way.done for way in self.ways)

    def passing(self, begin: Begin) -> Iterator[Any]:
        """Give what the script gets in this pass; `begin` is the loader's own `__iter__`."""
        for way in self.ways:
            last = time.perf_counter()
            for batch in self._feed(way, begin):
                now = time.perf_counter()
                way.note(batch, now - last)
                last = now
                self.latest = [batch]
                yield batch
                if way.done:
                    break
        self._count_rows()

    def _feed(self, way: Way, begin: Begin) -> Iterator[Any]:
        """Give batches in one way until nobody wants more."""
        if way.done:
            return
        if way.mode == "synthetic":
            while self.latest:
                yield self.latest[0]
        elif way.mode == "cached":
            source = _repeating(self.loader)
            if source is not None:  # not by its truth, which is its length
                yield from source
        else:
            any_came = True
            while any_came:  # a short pass begins again, as the script's next epoch would
                any_came = False
                for batch in begin(self.loader):
                    any_came = True
                    yield batch
        way.possible = False  # nothing came, or no more

    def _count_rows(self) -> None:
        way = self.ways[0]
        try:
            batch_size = getattr(self.loader, "batch_size", None)
            if batch_size is None:  # a batch sampler of the user's: as it was so far
                self.rows = round(len(self.loader) * way.samples / way.batches)
            else:
                self.rows = min(len(self.loader.sampler), len(self.loader) * batch_size)
        except (TypeError, ZeroDivisionError):
            self.rows = None  # it does not say how long it is


def ways(modes: list[str], seconds: float, first: bool) -> list[Way]:
    """Return the ways to measure a loader in; the script's first one gets more time."""
    less = 1.0 if first else 0.5
    made = []
    for mode in modes:
        synthetic = _LESS_SYNTHETIC if mode == "synthetic" else 1.0
        warm_s = 0.25 if mode == "synthetic" else WARM_S
        made.append(Way(mode, less * synthetic * seconds, less * warm_s))
    return made


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
        until = time.perf_counter() + WARM_S / 2
        for batch in self._inner:
            self._seen.append(batch)
            yield batch
            if time.perf_counter() > until:
                break
        while self._seen:
            yield from self._seen


def _repeating(loader: Any) -> Any:
    """Return a loader of the same that repeats its first rows; None if that cannot be."""
    from torch.utils.data import DataLoader

    if getattr(loader, "batch_sampler", None) is None:
        print("joader: its rows cannot be repeated: it has no batch sampler", file=sys.stderr)
        return None
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
