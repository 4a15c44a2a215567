"""Another loader in the place of torch's, for libraries that make their own: each kind of data."""

import os

import torch
from loaders import attempt, batches, run
from torch.utils.data import Dataset, IterableDataset, StackDataset, TensorDataset


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


class Rows(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, row):
        return row


class Together(Rows):
    def __getitems__(self, rows):
        return [row + len(rows) for row in rows]


def library(dataset, **named):
    """Make a loader as a library does, by the name that it finds in torch."""
    return torch.utils.data.DataLoader(dataset, batch_size=4, **named)


def read_all(data):
    print("stream", batches(library(Stream())), batches(library(Stream(), num_workers=1)))
    print("rows", batches(library(Rows(), num_workers=0)))
    print("together", batches(library(Together())))
    print("stack", batches(library(StackDataset(a=Rows(), b=Rows()))))
    print("tensors", batches(library(TensorDataset(torch.arange(5)))))

    class Derived(torch.utils.data.DataLoader):
        pass

    print("derived", batches(Derived(Stream())))
    print("of torch's class", isinstance(library(Rows()), data))
    os.environ["JOADER_RUNTIME"] = "/dev/null/none"  # joader's loader then reads by itself
    attempt("alone", lambda: batches(library(Rows(), num_workers=1)))


def main(DataLoader):
    data, runtime = torch.utils.data.DataLoader, os.environ["JOADER_RUNTIME"]
    torch.utils.data.DataLoader = torch.utils.data.dataloader.DataLoader = DataLoader
    try:
        read_all(data)
    finally:
        torch.utils.data.DataLoader = torch.utils.data.dataloader.DataLoader = data
        os.environ["JOADER_RUNTIME"] = runtime


if __name__ == "__main__":
    run(main)
