"""Orders: `generator=` with `shuffle=True`, and samplers of all kinds, over several epochs."""

import random

import torch
from loaders import rows, run
from torch.utils.data import (
    BatchSampler,
    Dataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler


class Rows(Dataset):
    def __len__(self):
        return 11

    def __getitem__(self, row):
        return row


class Pairs(Dataset):
    """Keys of another kind than numbers."""

    def __getitem__(self, key):
        name, number = key
        return len(name) * 100 + number


class Own(Sampler):
    def __init__(self):
        self.random = random.Random(5)

    def __iter__(self):
        return iter(self.random.sample(range(11), 6))

    def __len__(self):
        return 6


class OwnBatches:
    def __iter__(self):
        yield [0, 1, 2]
        yield (3,)
        yield torch.tensor([5, 4])

    def __len__(self):
        return 3


def seeded(seed=1):
    return torch.Generator().manual_seed(seed)


def samplers(data):
    weights = torch.arange(11.0) + 1
    yield "sequential", SequentialSampler(data)
    yield "random", RandomSampler(data, generator=seeded())
    yield "replacement", RandomSampler(data, True, 20, generator=seeded())
    yield "more than all", RandomSampler(data, num_samples=15, generator=seeded())
    yield "weighted", WeightedRandomSampler(weights, 9, generator=seeded())
    yield "weighted once", WeightedRandomSampler(weights, 9, False, generator=seeded())
    yield "subset", SubsetRandomSampler([1, 3, 5, 7], generator=seeded())
    yield "list", [10, 0, 5, 5]
    yield "range", range(10, 0, -3)
    yield "tensor", torch.tensor([2, 4, 6])
    yield "own", Own()
    yield "a rank's", DistributedSampler(data, num_replicas=3, rank=1, shuffle=True, seed=2)


def batch_samplers(data):
    yield "batch sampler", BatchSampler(RandomSampler(data, generator=seeded()), 3, True)
    yield "lists", [[0, 1], [2], [3, 4, 5], []][:3]
    yield "own", OwnBatches()


def main(DataLoader):
    data = Rows()
    for workers in ({"num_workers": 1}, {}, {"num_workers": 0}):
        print(workers)
        for drop_last in (False, True):
            loader = DataLoader(
                data, batch_size=4, shuffle=True, generator=seeded(), drop_last=drop_last, **workers
            )
            print("generator", [rows(loader) for _ in range(3)])
        for name, sampler in samplers(data):
            loader = DataLoader(data, batch_size=4, sampler=sampler, **workers)
            print(name, len(loader), [rows(loader) for _ in range(2)])
        for name, batch_sampler in batch_samplers(data):
            loader = DataLoader(data, batch_sampler=batch_sampler, **workers)
            print(name, len(loader), [[b.tolist() for b in loader] for _ in range(2)])
        shuffled = DataLoader(data, batch_size=4, shuffle=True, **workers)
        print(
            "shuffled", sorted(rows(shuffled)), len({tuple(rows(shuffled)) for _ in range(4)}) > 1
        )
        subset = DataLoader(Subset(data, [9, 2, 4]), 2, True, generator=seeded(), **workers)
        print("subset", rows(subset), rows(subset))
        keys = [("a", 1), ("bb", 2), ("a", 3)]
        print("keys", rows(DataLoader(Pairs(), batch_size=2, sampler=keys, **workers)))
        words = DataLoader({"x": 1, "y": 2}, batch_size=2, sampler=["y", "x"], **workers)
        print("words", rows(words))


if __name__ == "__main__":
    run(main)
