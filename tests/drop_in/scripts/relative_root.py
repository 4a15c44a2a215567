"""Data below a relative folder; another job does the same in another folder, at the same time."""

import os
import time
from pathlib import Path

from loaders import meet, run
from torch.utils.data import Dataset


class Files(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return Path(self.root, "value.txt").read_text()


def distinct(loader):
    return sorted({text for _ in range(3) for batch in loader for text in batch})


def main(DataLoader):
    here = Path.cwd()
    loader = DataLoader(Files("data"), batch_size=4, shuffle=True, num_workers=2)
    meet("start")
    print(distinct(loader))
    os.chdir("below")
    try:
        meet("below")
        print("below", distinct(loader))
    finally:
        os.chdir(here)


if __name__ == "__main__":
    run(main)
