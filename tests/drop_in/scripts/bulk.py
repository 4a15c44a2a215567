"""Bulk loading: `batch_size=None` with a BatchSampler as the sampler; single samples."""

import numpy as np
import torch
from loaders import WORKERS, batches, run
from torch.utils.data import BatchSampler, Dataset, RandomSampler, SequentialSampler


class Table(Dataset):
    def __init__(self):
        self.values = torch.arange(20).reshape(10, 2)

    def __len__(self):
        return 10

    def __getitem__(self, rows):
        return self.values[rows], np.asarray(rows), rows


def main(DataLoader):
    for workers in WORKERS:
        table = Table()
        print(workers)
        in_order = BatchSampler(SequentialSampler(table), 4, drop_last=False)
        print(batches(DataLoader(table, batch_size=None, sampler=in_order, **workers)))
        mixed = RandomSampler(table, generator=torch.Generator().manual_seed(3))
        sampler = BatchSampler(mixed, 4, drop_last=True)
        loader = DataLoader(table, batch_size=None, sampler=sampler, **workers)
        print(len(loader), batches(loader), batches(loader))
        print(batches(DataLoader(table, batch_size=None, **workers)))
        slices = [slice(0, 3), slice(5, 7)]
        print(batches(DataLoader(table, batch_size=None, sampler=slices, **workers)))


if __name__ == "__main__":
    run(main)
