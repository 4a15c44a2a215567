"""Loops that change their dataset during a pass, without workers: the next batch has the change.

What torch's workers have of it depends on how far ahead they read, so nothing of them is printed.
"""

import logging
import sys
import time
from types import SimpleNamespace

import numpy as np
import torch
from loaders import run
from torch.utils.data import Dataset, Subset

logging.getLogger("joader").setLevel(logging.ERROR)
ROWS, BATCH = 24, 4
TEMPERATURE = 0


class Slow(Dataset):
    """Rows that take as long as workers need to read some ahead."""

    def __init__(self):
        self.labels = torch.zeros(ROWS, dtype=torch.long)
        self.targets = np.zeros(ROWS * 50, np.int64).reshape(ROWS, 50)
        self.names = [(row, 0) for row in range(ROWS * 5)]
        self.transform = SimpleNamespace(steps=[SimpleNamespace(strength=0)])
        self.temperature = 0

    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        time.sleep(0.001)
        strength = self.transform.steps[0].strength
        values = self.labels[row], self.targets[row, 0], self.names[row][1], strength
        return row, *values, self.temperature, TEMPERATURE


class Long(Slow):
    def __len__(self):
        return len(self.names)

    def __getitem__(self, row):
        return super().__getitem__(row % ROWS)[:1] + self.names[row]


class Counting(Slow):
    """Reading changes it, too."""

    read = None

    def __getitem__(self, row):
        self.read = row
        return super().__getitem__(row)


def labels(rows, step):
    rows.labels += 1


def targets(rows, step):
    rows.targets[:] = step


def transform(rows, step):
    rows.transform.steps[0].strength = step


def temperature(rows, step):
    rows.temperature = step


def module_temperature(rows, step):
    global TEMPERATURE
    TEMPERATURE = step


def once(rows, step):
    if step == 3:
        rows.labels = torch.full((ROWS,), 7)


def nothing(rows, step):
    pass


CHANGES = (labels, targets, transform, temperature, module_temperature, once, nothing)


def told(loader, rows, change):
    """Return the values of each batch, and that all rows have come."""
    global TEMPERATURE
    TEMPERATURE = 0
    seen, values = [], []
    for step, (numbers, *others) in enumerate(loader):
        seen += numbers.tolist()
        values.append([sorted(set(other.tolist())) for other in others])
        change(rows, step + 1)
    return sorted(seen) == list(range(len(seen))), values


def elements(DataLoader, **more):
    """Replace elements right before they come."""
    rows, seen = Long(), []
    for number, *_ in (loader := DataLoader(rows, batch_size=BATCH, **more)):
        seen += zip(*(part.tolist() for part in _))
        for row in range(len(seen), min(len(seen) + 2, len(rows))):
            rows.names[row] = row, 9
    plain = [torch.tensor([row, 0]) for row in range(ROWS)]
    for step, batch in enumerate(DataLoader(plain, batch_size=BATCH, **more)):
        seen += batch.tolist()
        plain[-1] = torch.tensor([step, 1])
    return len(loader), seen


def buffer(DataLoader, **more):
    """Read a buffer that grows, and whose Subset moves on."""
    rows = Slow()
    recent = Subset(rows, list(range(8)))
    seen = []
    for numbers, *_ in DataLoader(recent, batch_size=2, **more):
        seen += numbers.tolist()
        recent.indices = [index + 1 for index in recent.indices]
    return seen


def at_once(DataLoader, **more):
    """Change it between iter() and the first batch, and read two passes side by side."""
    rows = Slow()
    first = iter(loader := DataLoader(rows, batch_size=BATCH, **more))
    rows.temperature = 1
    seen = [next(first)[5].tolist()]
    second = iter(loader)
    for step in range(2, 4):
        rows.temperature = step
        seen += [next(first)[5].tolist(), next(second)[5].tolist()]
    return seen, len(list(first)), len(list(second))


def main(DataLoader):
    quick = "all" not in sys.argv
    for more in ({},) if quick else ({}, {"num_workers": 0}):
        for shuffle in (True,) if quick else (True, False):
            for kind in (Slow,) if quick else (Slow, Counting):
                for change in CHANGES[:1] if quick else CHANGES:
                    rows = kind()
                    loader = DataLoader(rows, batch_size=BATCH, shuffle=shuffle, **more)
                    for _ in range(2):
                        what = f"{kind.__name__} {change.__name__} {more}"
                        print(what, told(loader, rows, change))
        print(elements(DataLoader, **more))
        print(buffer(DataLoader, **more))
        print(at_once(DataLoader, **more))


if __name__ == "__main__":
    run(main)
