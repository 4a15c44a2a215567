"""Run as a module, with one dataset beside it and one of its own."""

from loaders import WORKERS, batches, run

from .data import Rows
from .steps import double


class Own(Rows):
    def __getitem__(self, row):
        return double(super().__getitem__(row))


def main(DataLoader):
    for workers in WORKERS:
        print(__name__, __package__, workers)
        print(batches(DataLoader(Rows(), batch_size=2, **workers)))
        print(batches(DataLoader(Own(), batch_size=2, **workers)))


if __name__ == "__main__":
    run(main)
