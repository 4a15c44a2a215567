"""Samples of the script's own classes, with a collate_fn of its own and with torch's."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from loaders import WORKERS, attempt, batches, run
from torch.utils.data import Dataset


class Plain:
    def __init__(self, row):
        self.row, self.values = row, torch.tensor([row])


class Slotted:
    __slots__ = ("row",)

    def __init__(self, row):
        self.row = row


class Color(enum.Enum):
    RED = 0
    BLUE = 1


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class OwnDict(dict):
    pass


class OwnList(list):
    pass


class OwnInt(int):
    pass


class OwnStr(str):
    pass


class OwnArray(np.ndarray):
    pass


class OwnTensor(torch.Tensor):
    pass


class Pair(NamedTuple):
    image: torch.Tensor
    label: int


@dataclass
class Record:
    row: int
    name: str


MAKERS = {
    "plain": Plain,
    "slots": Slotted,
    "enum": lambda row: Color(row % 2),
    "int enum": lambda row: Level(row % 2),
    "dict": lambda row: OwnDict(row=row, half=row / 2),
    "list": lambda row: OwnList([row, row + 1]),
    "int": OwnInt,
    "str": lambda row: OwnStr(f"row {row}"),
    "array": lambda row: np.array([row, -row]).view(OwnArray),
    "tensor": lambda row: torch.tensor([float(row)]).as_subclass(OwnTensor),
    "named tuple": lambda row: Pair(torch.full((2,), row), row),
    "dataclass": lambda row: Record(row, f"row {row}"),
    "nested": lambda row: {"item": Plain(row), "level": Level.HIGH, "pair": (OwnInt(row), "a")},
}


class Made(Dataset):
    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 3

    def __getitem__(self, row):
        return MAKERS[self.what](row)


class Functions(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, row):
        return lambda: row + 1


def as_they_are(samples):
    return samples


def same_classes(DataLoader, what, workers):
    """Whether what comes is of the very class that the script has."""
    loader = DataLoader(Made(what), batch_size=2, collate_fn=as_they_are, **workers)
    return [type(s) is type(MAKERS[what](0)) for batch in loader for s in batch]


def main(DataLoader):
    for what in MAKERS:
        for workers in WORKERS[:1] if what != "plain" else WORKERS:
            own = DataLoader(Made(what), batch_size=2, collate_fn=as_they_are, **workers)
            attempt(f"{what}, own collate_fn {workers}", lambda: batches(own))
            torchs = DataLoader(Made(what), batch_size=2, **workers)
            attempt(f"{what}, torch's", lambda: batches(torchs))
    print("classes", [same_classes(DataLoader, what, {"num_workers": 1}) for what in MAKERS])
    for function in DataLoader(Functions(), batch_size=None, num_workers=0):
        print("a function that gives", function())


if __name__ == "__main__":
    run(main)
