"""A file by its absolute path; another job sees another file there, in a mount namespace."""

import sys
import time
from pathlib import Path

from loaders import meet, run
from torch.utils.data import Dataset


class Files(Dataset):
    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return Path(self.path).read_text()


def main(DataLoader):
    path = Path.cwd() / sys.argv[1]
    loader = DataLoader(Files(str(path)), batch_size=4, shuffle=True, num_workers=2)
    meet("start")
    print(path.read_text(), {text for _ in range(3) for batch in loader for text in batch})


if __name__ == "__main__":
    run(main)
