"""DDP over gloo with a DistributedSampler: rows are counted over all ranks.

With the argument `drop_last` nothing else is compared than the number of steps.
"""

import os
import sys
import tempfile
from collections import Counter

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from loaders import run
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler

RANKS = 2


class Rows(Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return torch.tensor(row), torch.full((3,), float(row))


def epochs(model, DataLoader, length, shuffle, drop_last):
    rows = Rows(length)
    sampler = DistributedSampler(rows, shuffle=shuffle)
    workers = {"num_workers": 1, "multiprocessing_context": os.environ["START"]}
    loader = DataLoader(rows, batch_size=4, sampler=sampler, drop_last=drop_last, **workers)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        steps, seen = 0, []
        for numbers, values in loader:
            assert torch.equal(values[:, 0], numbers.float())
            model(values).sum().backward()
            steps += 1
            seen += numbers.tolist()
        yield len(loader), steps, seen


def train(rank, DataLoader, results, store):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank))
    address = f"file://{store}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=RANKS)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    cases = (
        [(23, False, True)] if "drop_last" in sys.argv else [(24, False, False), (23, True, False)]
    )
    results.put([list(epochs(model, DataLoader, *case)) for case in cases])
    dist.barrier()
    dist.destroy_process_group()


def main(DataLoader):
    results = mp.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (DataLoader, results, f"{folder}/store"), nprocs=RANKS)
    ranks = [results.get() for _ in range(RANKS)]
    for of_ranks in zip(*ranks):
        for epoch in zip(*of_ranks):
            counts = Counter(row for _, _, seen in epoch for row in seen)
            print("steps", [(length, steps) for length, steps, _ in epoch])
            if "drop_last" not in sys.argv:
                print("rows", len(counts), "in all", counts.total())


if __name__ == "__main__":
    run(main)
