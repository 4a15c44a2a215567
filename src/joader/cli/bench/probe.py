"""Runs a training script for some seconds and measures the loaders that it iterates over.

A process of its own: `python -m joader.cli.bench.probe MODES SECONDS REPORT SCRIPT [ARGUMENT...]`.
The script is not changed; the loaders' `__iter__` is. Each loader gives, by the modes, in turn
- *fresh*: what it would give;
- *cached*: the rows of the first seconds, again and again: they are in the page cache by then;
- *synthetic*: one batch, again and again: loading costs nothing;
- *joader*: what joader's loader gives in the place of torch's.

A loader's pass ends when it is measured, and the script goes on: to the loader of its validation,
for example. The report is written, and the process ends, when the script comes back to a loader
that is measured, takes long to come to another, or ends.
"""

import json
import os
import runpy
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joader.cli.bench.meter import Begin, Meter, ways

# More than a script has in an epoch; one that makes new ones all the time has to end.
MOST_LOADERS = 3
# What a script may do after a pass before it comes to its next loader.
_NEXT_S = 8.0


class Probe:
    """All loaders of a script."""

    def __init__(self, modes: list[str], seconds: float, report: Path) -> None:
        """Write the report when enough was seen."""
        self._modes, self._seconds, self._report = modes, seconds, report
        self._meters: list[Meter] = []
        self._left_out: dict[str, None] = {}  # names of those that are too many, in their order
        self._looked = time.perf_counter()
        self._inside = 0
        # While a loader is asked for a batch: a loader that it uses itself is none of the script's.
        self._asking = False

    def passing(self, loader: Any, begin: Begin) -> Iterator[Any]:
        """Give what the script gets when it iterates over a loader."""
        meter = None if self._asking else self._meter_of(loader)
        if meter is None:
            return begin(loader)
        if meter.done:
            if all(one.done for one in self._meters):
                self.end()
            # Others are not measured yet: one batch, so that the script comes to them.
            return iter(meter.latest)
        return self._measured(meter, begin)

    def end(self) -> None:
        """Write what was measured, and end the process."""
        self.write()
        os._exit(0)  # workers and daemons see that by themselves

    def write(self) -> bool:
        """Write what was measured; tell whether anything was."""
        measured = [meter for meter in self._meters if meter.ways[0].per_s is not None]
        figures = [
            {
                "name": meter.name,
                "rows": meter.rows,
                "rates": {way.mode: way.per_s for way in meter.ways},
            }
            for meter in measured
        ]
        told = {"loaders": figures, "left_out": list(self._left_out)}
        self._report.write_text(json.dumps(told))
        return bool(measured)

    def _measured(self, meter: Meter, begin: Begin) -> Iterator[Any]:
        self._inside += 1
        batches = meter.passing(begin)
        try:
            while True:
                self._asking = True
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                finally:
                    self._asking = False
                yield batch
        finally:
            self._inside -= 1
            self._looked = time.perf_counter()

    def _meter_of(self, loader: Any) -> Meter | None:
        for meter in self._meters:
            # A script that makes a loader for each epoch makes it of the same dataset.
            same = meter.loader.dataset is loader.dataset
            if meter.loader is loader or (same and meter.loader.batch_size == loader.batch_size):
                return meter
        if len(self._meters) == MOST_LOADERS:
            self._left_out[type(loader.dataset).__name__] = None
            return None
        found = ways(self._modes, self._seconds, not self._meters)
        self._meters.append(Meter(loader, type(loader.dataset).__name__, found))
        if len(self._meters) == 1:
            threading.Thread(target=self._watch, daemon=True).start()
        return self._meters[-1]

    def _watch(self) -> None:
        """End a script that has shown a loader and takes long to come to another."""
        while True:
            time.sleep(0.2)
            some = any(meter.done for meter in self._meters)
            if some and not self._inside and time.perf_counter() - self._looked > _NEXT_S:
                self.end()


def put_in_place(probe: Probe, with_joader: bool) -> None:
    """Have all loaders measured."""
    import torch.utils.data as data

    import joader

    theirs, ours = data.DataLoader, joader.DataLoader
    if with_joader:
        data.DataLoader = data.dataloader.DataLoader = ours  # type: ignore[misc, unused-ignore]

    def wrap(kind: Any) -> None:
        begin = kind.__iter__
        kind.__iter__ = lambda loader: probe.passing(loader, begin)

    wrap(theirs)
    wrap(ours)


def main() -> None:
    """Run the script."""
    modes, seconds, report, script, *arguments = sys.argv[1:]
    probe = Probe(modes.split(","), float(seconds), Path(report))
    put_in_place(probe, modes == "joader")
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        # Also of a script that fails because its pass was short: what is measured counts.
        if probe.write():
            os._exit(0)
    sys.exit("joader: the script ended before enough of its batches could be measured")


if __name__ == "__main__":
    main()
