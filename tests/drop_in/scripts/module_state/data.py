"""Datasets that look at the state of modules when a row is read."""

import io

import config
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Sized(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, row):
        return row, config.SIZE


class Configured(Sized):
    def __getitem__(self, row):
        return config.cfg.INPUT.SIZE, config.cfg.INPUT.MEAN[0], config.cfg.FROZEN


class Patched(Sized):
    def value(self, row):
        return row

    def __getitem__(self, row):
        return self.value(row)


class Truncated(Sized):
    def __init__(self):
        file = io.BytesIO()
        pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        Image.fromarray(pixels).save(file, "JPEG")
        self.bytes = file.getvalue()[:-20]

    def __getitem__(self, row):
        return np.asarray(Image.open(io.BytesIO(self.bytes))).shape


class Defaults(Sized):
    def __getitem__(self, row):
        return torch.ones(1)
