"""State that rows leave in the dataset, and random numbers: whose they are, and how long they last.

A worker begins each epoch with what the job has, unless workers persist; with none it is the job's.
"""

import random

import numpy as np
import torch
from loaders import batches, run
from torch.utils.data import Dataset


class Counting(Dataset):
    def __init__(self):
        self.count, self.random = 0, random.Random(3)

    def __len__(self):
        return 5

    def __getitem__(self, row):
        self.count += 1
        return self.count, self.random.randrange(1000)


class Augmented(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, row):
        return [
            random.getrandbits(60),
            np.random.randint(1 << 60),
            torch.randint(1 << 60, ()).item(),
        ]


def main(DataLoader):
    one = {"num_workers": 1}
    for workers in (one, {"num_workers": 0}, {**one, "persistent_workers": True}):
        rows = Counting()
        loader = DataLoader(rows, batch_size=3, **workers)
        for epoch in range(2):
            print(workers, epoch, batches(loader), "here", rows.count)
        rows.count = 100
        if not workers.get("persistent_workers"):  # those have their own
            print("set in the job", batches(loader))
    for workers in (2, 0):
        loader = DataLoader(Augmented(), batch_size=4, num_workers=workers)
        drawn = [torch.stack(batch, 1).tolist() for _ in range(3) for batch in loader]
        columns = list(zip(*(row for batch in drawn for row in batch)))
        print("rows", len(columns[0]), "never the same", [len(set(c)) for c in columns])


if __name__ == "__main__":
    run(main)
