"""The script that `joader bench DATASET` measures: it reads a dataset and trains nothing.

Pictures are decoded and resized to 224 × 224, other rows are only read. An empty training step is
the fastest there is, so what is measured is how fast data can come.
"""

import os
import sys
from typing import Any

from torch.utils.data import DataLoader

from joader.catalog import open_table
from joader.errors import JoaderError
from joader.images import Decode, Resize, Steps
from joader.storage import open_storage

BATCH = 64


class Rows:
    """The rows of a storage or table, prepared as far as they are pictures."""

    def __init__(self, place: str) -> None:
        """Open it, and look at its first row."""
        self.stored = open_table(place).view() if not os.path.exists(place) else open_storage(place)
        self.steps: Steps | None = Steps([Decode(), Resize(224, 224)])
        try:
            self[0]
        except (JoaderError, OSError, ValueError, TypeError):
            self.steps = None

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.stored)

    def __getitem__(self, row: int) -> Any:
        """Return a row, or the picture in it."""
        sample = self.stored[row]
        return sample if self.steps is None else self.steps(sample)


def main() -> None:
    """Read it for ever."""
    rows = Rows(sys.argv[1])
    cores = len(os.sched_getaffinity(0))
    plain = None if rows.steps is not None else list
    loader = DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=cores, collate_fn=plain)
    while True:
        for _ in loader:
            pass


if __name__ == "__main__":
    main()
