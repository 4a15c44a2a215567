"""With `num_workers=0` the dataset is the job's own object, in the job's own process.

The argument is how that is asked for: `zero`, or `absent`.
"""

import os
import sys
import threading

from loaders import run
from torch.utils.data import Dataset, get_worker_info

NONE = {"num_workers": 0} if sys.argv[1] == "zero" else {}


class Asking(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, row):
        return input(f"row {row}? ")


class Stopping(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, row):
        value = row + 5
        breakpoint()
        return value


class Counting(Dataset):
    def __init__(self):
        self.count, self.replay, self.where = 0, [], set()

    def __len__(self):
        return 8

    def __getitem__(self, row):
        self.count += 1
        self.replay.append(row)
        self.where.add((os.getpid(), threading.get_ident()))
        return self.count, get_worker_info() is None


def main(DataLoader):
    print(list(DataLoader(Asking(), **NONE)))
    print(list(DataLoader(Stopping(), **NONE)))
    rows = Counting()
    loader = DataLoader(rows, batch_size=4, **NONE)
    for epoch in range(2):
        print(epoch, list(loader))
    print(rows.count, rows.replay, rows.where == {(os.getpid(), threading.get_ident())})
    it = iter(loader)
    print(rows.count, "read before the first batch is asked for")
    next(it)
    print(rows.count, "after the first batch")


if __name__ == "__main__":
    run(main)
