"""Imports its neighbour by a relative name."""

from torch.utils.data import Dataset

from . import steps


class Rows(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, row):
        return steps.double(row)
