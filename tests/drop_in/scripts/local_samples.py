"""Samples of classes that no other process can find by name, and samples that do not pickle."""

from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import torch
from loaders import run
from torch.utils.data import Dataset


class Holder:
    Pair = namedtuple("Pair", ["image", "label"])

    class Typed(NamedTuple):
        image: torch.Tensor
        label: int


class Rows(Dataset):
    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 5

    def __getitem__(self, row):
        return self.make(row)


def labels(samples):
    return torch.tensor([sample.label for sample in samples])


def calls(samples):
    return torch.tensor([sample() for sample in samples])


def main(DataLoader):
    class Local(NamedTuple):
        image: torch.Tensor
        label: int

    @dataclass
    class Record:
        image: torch.Tensor
        label: int

    for kind in (Holder.Pair, Holder.Typed, Local):
        rows = Rows(lambda row: kind(torch.full((2,), row), row))
        for workers in ({}, {"num_workers": 0}):
            for batch in DataLoader(rows, batch_size=3, **workers):
                print(type(batch) is kind, batch.image.tolist(), batch.label)
    for kind in (Holder.Pair, Local, Record):
        rows = Rows(lambda row: kind(torch.full((2,), row), row))
        for workers in ({}, {"num_workers": 1}):  # torch's workers send the batch alone
            print(list(DataLoader(rows, batch_size=3, collate_fn=labels, **workers)))
    rows = Rows(lambda row: lambda: row)
    print(list(DataLoader(rows, batch_size=3, collate_fn=calls, num_workers=1)))


if __name__ == "__main__":
    run(main)
