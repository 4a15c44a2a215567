"""A package that another job, in another environment, has in another version."""

import time
from importlib.metadata import version

import tinypackage
from loaders import WORKERS, meet, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return tinypackage.prepare(row)


def main(DataLoader):
    print("version", version("tinypackage"))
    for workers in WORKERS:
        loader = DataLoader(Rows(), batch_size=4, shuffle=True, **workers)
        meet(f"start {workers}")
        print(sorted({text for _ in range(2) for batch in loader for text in batch}))


if __name__ == "__main__":
    run(main)
