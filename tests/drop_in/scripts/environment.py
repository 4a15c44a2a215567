"""A dataset that asks the environment, when it is imported and when a row is read.

With the argument `together` another job with other variables reads at the same time.
"""

import os
import sys
import time

from loaders import WORKERS, meet, run
from torch.utils.data import Dataset

AT_IMPORT = os.environ.get("DATA_ROOT")


class Rows(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return AT_IMPORT, os.environ.get("DATA_ROOT"), os.environ.get("SET_INSIDE", "unset")


def seen(loader, epochs=3):
    return sorted({row for _ in range(epochs) for batch in loader for row in zip(*batch)})


def main(DataLoader):
    os.environ.pop("SET_INSIDE", None)
    loader = DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=2)
    if "together" in sys.argv:
        meet("before")
    print("as it was outside", seen(loader))
    os.environ["SET_INSIDE"] = os.environ["DATA_ROOT"] + " inside"
    if "together" in sys.argv:
        meet("inside")
    print("set after the loader was made", seen(loader))
    for workers in WORKERS:
        print("set before", workers, seen(DataLoader(Rows(), batch_size=4, **workers), 1))


if __name__ == "__main__":
    run(main)
