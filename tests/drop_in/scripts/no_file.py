"""Given to the interpreter as `-c` or by standard input: there is no file to import it from."""

import functools

from loaders import WORKERS, batches, run
from torch.utils.data import Dataset

OFFSET = 10


@functools.lru_cache
def load(row):
    return row + OFFSET


class Item:
    def __init__(self, row):
        self.row = row


class Rows(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, row):
        return load(row)


class Items(Rows):
    def __getitem__(self, row):
        return Item(row)


def main(DataLoader):
    for workers in WORKERS:
        print(batches(DataLoader(Rows(), batch_size=4, **workers)))
        print(batches(DataLoader(Items(), batch_size=4, collate_fn=list, **workers)))
        print(batches(DataLoader(Rows(), batch_size=4, collate_fn=lambda s: sum(s), **workers)))


if __name__ == "__main__":
    run(main)
