"""A dataset with much to change."""

import numpy as np
from torch.utils.data import Dataset

OFFSET = 0


def negate(value):
    return -value


class Rows(Dataset):
    level = 0

    def __init__(self):
        self.offset = 0
        self.epoch = 0
        self.samples = [{"value": value} for value in range(6)]
        self.array = np.zeros(6, np.int64)
        self.transform = None

    def __len__(self):
        return len(self.samples)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, row):
        value = self.samples[row]["value"] + self.offset + 100 * self.epoch + 1000 * self.level
        value += 10_000 * OFFSET + int(self.array[row % 6])
        return self.transform(value) if self.transform else value
