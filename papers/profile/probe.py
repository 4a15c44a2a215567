"""Runs a training script until it iterates over its first loader, and measures that one's dataset.

A process of its own: `python -m papers.profile.probe REPORT WORKERS SECONDS SCRIPT
[ARGUMENT...]`. The script is not changed; the loader's `__iter__` is. When all numbers of workers
have been tried the report is written and the process ends.
"""

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import msgspec

from papers.profile import loading_runs
from papers.profile.loading_runs import Rows


def put_in_place(report: Path, workers: list[int], seconds: float, name: str) -> None:
    """Have the dataset of the first loader measured, whichever kind of loader it is."""
    import torch.utils.data as data

    import joader

    def measure(loader: Any) -> Any:
        dataset = loader.dataset
        rows = Rows(name, len(dataset), dataset.__getitem__)
        found = [loading_runs.run(rows, count, seconds) for count in workers]
        report.write_bytes(msgspec.json.encode(found))
        os._exit(0)

    for kind in (data.DataLoader, joader.DataLoader):
        kind.__iter__ = measure  # type: ignore[method-assign, unused-ignore]


def main() -> None:
    """Run the script."""
    report, workers, seconds, script, *arguments = sys.argv[1:]
    counts = [int(word) for word in workers.split(",")]
    put_in_place(Path(report), counts, float(seconds), Path(script).name)
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    sys.exit("joader: the script ended without iterating over a DataLoader")


if __name__ == "__main__":
    main()
