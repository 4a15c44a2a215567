"""An HDF5 file, opened at the first use, after the user has looked at a row; and opened at once."""

import h5py
import numpy as np
from loaders import attempt, batches, run
from torch.utils.data import Dataset


class Lazy(Dataset):
    def __init__(self, path):
        self.path, self.file = path, None

    def __len__(self):
        return 8

    def __getitem__(self, row):
        if self.file is None:
            self.file = h5py.File(self.path)
        return self.file["values"][row]


class Open(Lazy):
    def __init__(self, path):
        super().__init__(path)
        self.file = h5py.File(path)


def main(DataLoader):
    with h5py.File("values.h5", "w") as file:
        file["values"] = np.arange(16).reshape(8, 2)
    for workers in (1, 0):
        for kind in (Lazy, Open):
            for looked_at in (False, True):
                rows = kind("values.h5")
                if looked_at:
                    print("first", rows[0])
                loader = DataLoader(rows, batch_size=4, num_workers=workers)
                attempt(f"{kind.__name__} {workers} {looked_at}", lambda: batches(loader))


if __name__ == "__main__":
    run(main)
