"""`torch.multiprocessing.spawn`, with the dataset's class in the script.

A rank's workers are then spawned, too, unless it says otherwise: multiprocessing hands that down.
"""

import torch
import torch.multiprocessing as mp
from loaders import batches, run
from torch.utils.data import Dataset


class Squares(Dataset):
    def __init__(self, offset):
        self.offset = offset

    def __len__(self):
        return 8

    def __getitem__(self, row):
        return torch.tensor(row * row + self.offset)


def train(rank, DataLoader, results):
    loader = DataLoader(Squares(100), batch_size=4, num_workers=1)
    lines = [batches(loader), batches(DataLoader(Squares(0), batch_size=4))]
    results.put([rank, *lines])


def main(DataLoader):
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, (DataLoader, results), nprocs=1)  # for two ranks see ddp.py
    print(*results.get(), sep="\n")


if __name__ == "__main__":
    run(main)
