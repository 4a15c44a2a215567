"""The part of torch.utils.data that a nest is made of, for where torch is not installed.

It follows torch 2.13 in what `unwrap` relies on: attributes, and which index leads where.
"""

from bisect import bisect_right
from itertools import accumulate, pairwise

import numpy as np


class Dataset:
    pass


class IterableDataset(Dataset):
    pass


class Subset(Dataset):
    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, position):
        return self.dataset[self.indices[position]]

    def __getitems__(self, positions):
        return [self.dataset[self.indices[position]] for position in positions]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    def __init__(self, datasets):
        self.datasets = list(datasets)
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, position):
        number = bisect_right(self.cumulative_sizes, position)
        return self.datasets[number][position - [0, *self.cumulative_sizes][number]]

    def __len__(self):
        return self.cumulative_sizes[-1]


def random_split(dataset, lengths):
    order = np.random.default_rng(0).permutation(len(dataset)).tolist()
    bounds = pairwise(accumulate(lengths, initial=0))
    return [Subset(dataset, order[start:end]) for start, end in bounds]
