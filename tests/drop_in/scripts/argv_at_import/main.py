"""The dataset's module parses the command line when it is imported."""

from loaders import WORKERS, batches, run
from options import Rows


def main(DataLoader):
    for workers in WORKERS:
        print(workers, batches(DataLoader(Rows(), batch_size=3, **workers)))


if __name__ == "__main__":
    run(main)
