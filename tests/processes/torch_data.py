"""Datasets for the tests with torch; workers import them from here."""

import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, get_worker_info

Pair = namedtuple("Pair", ["image", "label"])


class Numbers(Dataset[int]):
    """Row i is the number i."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return row


class Made(Dataset[Any]):
    """Row i is what a function makes of i."""

    def __init__(self, make: Any, length: int = 4) -> None:
        self.make = make
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> Any:
        return self.make(row)


class Locked(Numbers):
    """A dataset that holds what cannot travel."""

    def __init__(self) -> None:
        super().__init__(3)
        self.parts = {"reader": [1, threading.Lock()]}


class Noise(Numbers):
    """Row i is i and random numbers of torch."""

    def __getitem__(self, row: int) -> Any:
        return row, torch.rand(2)


class Told(Numbers):
    """Row i is what get_worker_info() says, and what worker_init_fn left in the dataset."""

    def __getitem__(self, row: int) -> Any:
        info = get_worker_info()
        assert info is not None
        assert info.dataset is self
        return info.id, info.num_workers, getattr(self, "left", -1)


def leave_mark(worker: int) -> None:
    """Be a worker_init_fn that writes to the dataset."""
    info = get_worker_info()
    assert info is not None
    assert info.id == worker
    assert torch.initial_seed() == info.seed
    info.dataset.left = 100 + worker


def break_down(worker: int) -> None:
    raise KeyError(f"worker {worker} has no key")


def log_worker(path: Path) -> Any:
    """Return a worker_init_fn that writes its number to a file."""

    def log(worker: int) -> None:
        with path.open("a") as file:
            file.write(f"{worker}\n")

    return log
