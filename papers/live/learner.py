"""One learner of `locality-threads`: reads a folder of pictures twice, says the second's rate.

    python -m papers.live.learner FOLDER LOADER WORKERS THREADS [THREADS ...]

A line for each number of threads. With threads a batch is prepared by several of them in its
worker, as the locality paper changes torch's loader.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from papers.live.paced_job import Photos

BATCH = 16


class Threaded(Photos):
    """Pictures of which a batch is prepared by several threads."""

    def __init__(self, folder: str, threads: int) -> None:
        """Use so many, once a worker asks for the first batch."""
        super().__init__(folder, os.devnull)
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def __getitems__(self, rows: list[int]) -> list[Any]:
        """Return the pictures of a batch."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        return list(self._pool.map(self.__getitem__, rows))


def main() -> None:
    """Measure."""
    folder, kind, workers, *numbers = sys.argv[1:]
    torch.set_num_threads(1)
    for threads in map(int, numbers):
        print(measured(folder, kind, int(workers), threads), flush=True)


def measured(folder: str, kind: str, workers: int, threads: int) -> float:
    """Return pictures per second of the second pass."""
    data: Any = Threaded(folder, threads) if threads else Photos(folder, os.devnull)
    how: Any = {"batch_size": BATCH, "shuffle": True, "num_workers": workers}
    if kind == "joader":
        import joader

        loader: Any = joader.DataLoader(data, fallback=False, **how)
    else:
        loader = torch.utils.data.DataLoader(data, persistent_workers=True, **how)
    for _ in loader:
        pass
    rows, begun = 0, time.perf_counter()
    for batch in loader:
        rows += len(batch)
    return rows / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
