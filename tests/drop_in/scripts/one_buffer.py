"""Datasets that fill the same memory for each row, as decoders of video do."""

import sys
import time

import numpy as np
import torch
from loaders import WORKERS, run
from torch.utils.data import Dataset

ROWS = 12


class Filled(Dataset):
    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        time.sleep(0.0005)  # or else the job would read it by itself
        return self.fill(row)


class InArray(Filled):
    memory = np.zeros((32, 32), np.uint8)

    def fill(self, row):
        self.memory[:] = row
        return self.memory


class InTensor(Filled):
    memory = torch.zeros(32, 32)

    def fill(self, row):
        self.memory[:] = row
        return {"frame": self.memory.t()}


class Ragged(Filled):
    """Rows of many sizes, most of them larger than the one before."""

    memory = np.zeros(ROWS * 64, np.uint8)

    def fill(self, row):
        self.memory[:] = row
        return self.memory[: 1 + row * 5 % ROWS * 64]


class Shown:
    """An object that can only be pickled."""

    def __init__(self):
        self.pixels = np.zeros(200, np.uint8)


class InObjects(Filled):
    memory = bytearray(100), Shown()

    def fill(self, row):
        text, shown = self.memory
        text[:] = bytes([row]) * len(text)
        shown.pixels[:] = row
        return self.memory


def copied(samples):
    """Return a batch that shares nothing with its samples."""
    (text, shown) = samples[0] if isinstance(samples, list) else samples
    return torch.tensor([*text, *shown.pixels])


def wrong(loader):
    """Return the rows whose batch, looked at when it comes, has another's values."""
    batches = (batch["frame"] if isinstance(batch, dict) else batch for batch in loader)
    return [row for row, batch in enumerate(batches) if (batch != row).any()]


def main(DataLoader):
    ours = DataLoader is not torch.utils.data.DataLoader
    kept = {"deterministic": True} if ours else {}
    for workers in WORKERS if "all" in sys.argv else ({},):
        for kind in (InArray, InTensor, Ragged) if "all" in sys.argv else (Ragged,):
            loader = DataLoader(kind(), **workers)
            print(workers, kind.__name__, wrong(loader), wrong(loader))
        loader = DataLoader(InArray(), **workers, **kept)
        print(workers, "kept", wrong(loader), wrong(loader))
        for size in (1, None):
            loader = DataLoader(InObjects(), batch_size=size, collate_fn=copied, **workers)
            print(workers, "objects", size, wrong(loader))
        # torch's workers send what is not collated while they may be reading the next row already.
        alone = workers if ours else {"num_workers": 0}
        print("one by one", wrong(DataLoader(InArray(), batch_size=None, **alone)))


if __name__ == "__main__":
    run(main)
