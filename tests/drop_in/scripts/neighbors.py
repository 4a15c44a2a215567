"""Two jobs with equal datasets: one changes its own, the other must not notice (reviews, D3)."""

import sys
import time

from loaders import meet, run
from torch.utils.data import Dataset

ROLE = sys.argv[1]


class Rows(Dataset):
    def __init__(self, base):
        self.base, self.offset = base, 0

    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return self.base + self.offset


def distinct(loader, epochs=3):
    return sorted({value for _ in range(epochs) for batch in loader for value in batch.tolist()})


def main(DataLoader):
    for first in ("changer", "reader"):
        rows = Rows(base=1000 if first == "changer" else 2000)
        loader = DataLoader(rows, batch_size=4, shuffle=True, num_workers=2)
        if ROLE == "changer":
            rows.offset = 100  # after the loader was made
        if first == ROLE:
            print(ROLE, "begins", distinct(loader, 1))
        meet(f"{first} has begun")
        print(ROLE, "beside the other", distinct(loader))
        meet(f"{first} was first")
    rows = Rows(base=3000)
    loader = DataLoader(rows, batch_size=4, shuffle=True, num_workers=2)
    for epoch in range(4):
        if ROLE == "changer":
            rows.offset = epoch
        meet(f"epoch {epoch}")
        print(ROLE, "epoch", epoch, distinct(loader, 1))


if __name__ == "__main__":
    run(main)
