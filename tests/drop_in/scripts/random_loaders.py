"""Loaders made at random: what samples are, who holds them, who gives the order, how far one reads.

A combination that nobody would think of is a line of its own. Its number makes it again:
`random_loaders.py 17 18`.
"""

import random
import sys
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import torch
from loaders import iterators_freed, kind, run, show
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
    random_split,
)

Point = namedtuple("Point", "x y")
ALL, FULL = -1, -2  # all rows; all but those that are dropped, by chance


class Thing:
    def __init__(self, value):
        self.value = value


SAMPLES: dict[str, Callable] = {
    "tensor": lambda row: torch.arange(6).reshape(2, 3) + row,
    "array": lambda row: np.full((3, 2), row, np.float32),
    "int": lambda row: row,
    "large int": lambda row: row + 2**40,
    "float": lambda row: row * 0.5,
    "bool": lambda row: row % 2 == 0,
    "str": lambda row: "é" * (row % 50),
    "bytes": lambda row: b"x" * (row % 7),
    "tuple": lambda row: (torch.tensor([row]), row),
    "list": lambda row: [torch.tensor([row, row]), str(row)],
    "dict": lambda row: {"a": torch.tensor(float(row)), "b": np.int16(row), "c": str(row)},
    "named tuple": lambda row: Point(torch.tensor([row]), row),
    "nested": lambda row: {"p": Point([row], {"q": np.zeros(2) + row}), "l": [(row, row + 1.5)]},
    "scalar": lambda row: np.float32(row),
    "half": lambda row: torch.full((2,), row, dtype=torch.float16),
    "bfloat": lambda row: torch.full((2,), row, dtype=torch.bfloat16),
    "complex": lambda row: torch.tensor([complex(row, 1)]),
    "no dimension": lambda row: torch.tensor(row),
    "empty": lambda row: torch.empty(0),
    "mixed": lambda row: (np.array(row), torch.tensor(row), row, float(row), str(row)),
    "ragged": lambda row: torch.full((row % 5 + 1,), row),
    "none": lambda row: None if row % 2 else row,
    "thing": Thing,
    "transposed": lambda row: torch.arange(12).reshape(3, 4).t() + row,
    "strided": lambda row: (np.arange(20) + row)[::2],
    "fields": lambda row: np.array((row, row * 0.5), dtype=[("a", "i4"), ("b", "f8")]),
}


class Rows(Dataset):
    def __init__(self, name, length):
        self.name, self.length = name, length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        if not 0 <= row < self.length:
            raise IndexError(row)
        return SAMPLES[self.name](row)


class Bulk(Rows):
    def __getitems__(self, rows):
        return [self[row] for row in rows]


class Flow(IterableDataset):
    def __init__(self, name, length, shared_out):
        self.name, self.length, self.shared_out = name, length, shared_out

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker and self.shared_out else (0, 1)
        return map(SAMPLES[self.name], range(first, self.length, step))


class Drawn(Sampler):
    """Another order in each pass, with repetitions."""

    def __init__(self, length, seed):
        self.length, self.random = length, random.Random(seed)

    def __iter__(self):
        return iter([self.random.randrange(self.length) for _ in range(self.length)])

    def __len__(self):
        return self.length


class Uneven:
    """Batches of any size, and no length."""

    def __init__(self, length, seed):
        self.length, self.seed = length, seed

    def __iter__(self):
        numbers = random.Random(self.seed)
        left = numbers.sample(range(self.length), self.length)
        while left:
            count = numbers.randint(1, 5)
            yield left[:count]
            left = left[count:]


def as_is(samples):
    return samples


def counted(samples):
    return {"count": len(samples), "first": samples[0]}


def dataset(numbers, name, length):
    rows = Rows(name, length)
    return numbers.choice(
        [
            *[lambda: rows] * 4,
            lambda: Bulk(name, length),
            lambda: [SAMPLES[name](row) for row in range(length)],
            lambda: Subset(
                Rows(name, length + 5), [row * 3 % (length + 5) for row in range(length)]
            ),
            lambda: ConcatDataset([rows, Rows(name, 3), Bulk(name, 2)]),
            lambda: random_split(Rows(name, length + 6), [length, 6], seeded(length))[0],
            lambda: TensorDataset(torch.arange(length), torch.arange(2.0 * length).reshape(-1, 2)),
            lambda: StackDataset(a=rows, b=Rows("int", length)),
            lambda: Flow(name, length, True),
            lambda: Flow(name, length, False),
        ]
    )()


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def samplers(length, seed):
    every = range(length)
    return [
        lambda: SequentialSampler(every),
        lambda: list(every)[::-1],
        lambda: RandomSampler(every, generator=seeded(seed)),
        lambda: RandomSampler(every, True, 11, generator=seeded(seed)),
        lambda: SubsetRandomSampler(every[::2], generator=seeded(seed)),
        lambda: WeightedRandomSampler(torch.arange(length) + 1.0, length, generator=seeded(seed)),
        lambda: DistributedSampler(every, num_replicas=3, rank=1, seed=seed),
        lambda: Drawn(length, seed),
    ]


def order(numbers, data, length, size):
    """Return the arguments that say what comes next, and whether that is known."""
    if isinstance(data, Flow):
        return {"batch_size": numbers.choice([size, None])}, True
    seed, rest = numbers.randrange(1000), {"batch_size": size, "drop_last": numbers.random() < 0.4}
    made = numbers.choice(samplers(length, seed))
    ways = [
        lambda: ({**rest}, True),
        lambda: ({**rest, "shuffle": True}, False),
        lambda: ({**rest, "shuffle": True, "generator": seeded(seed)}, True),
        lambda: ({**rest, "sampler": made()}, True),
        lambda: ({"batch_size": None, "sampler": made()}, True),
        lambda: ({"batch_sampler": BatchSampler(made(), size, seed % 2 == 0)}, True),
        lambda: ({"batch_sampler": Uneven(length, seed)}, True),
    ]
    # torch's random samplers refuse to draw from nothing.
    return numbers.choice(ways if length else ways[:1])()


def workers(numbers):
    count = numbers.choice([0, 0, 1, 2, 2, 3])
    given = {"num_workers": count, "pin_memory": numbers.random() < 0.2}
    if count:
        given["persistent_workers"] = numbers.random() < 0.4
        given["prefetch_factor"] = numbers.choice([None, None, 1, 5])
        given["timeout"] = numbers.choice([0, 0, 60])
    return given


def read(loader, most, known):
    """Return what a pass gives as far as it is read; if the order is chance, how much it is."""
    got = []
    for batch in loader:
        got.append(show(batch))
        if len(got) == most:
            break
    return got if known else [len(got), *(sorted("".join(got)) if most == ALL else ())]


def play(DataLoader, number):
    numbers = random.Random(number)
    name, length = numbers.choice(list(SAMPLES)), numbers.choice([0, 1, 2, 3, 7, 8, 16, 23, 40])
    data = dataset(numbers, name, length)
    length = length if isinstance(data, Flow) else len(data)
    given, known = order(numbers, data, length, numbers.choice([1, 2, 3, 4, 8, 64]))
    given |= workers(numbers)
    if name in ("ragged", "none", "thing", "fields") or numbers.random() < 0.3:
        given["collate_fn"] = numbers.choice([as_is, counted] if known else [as_is])
    loader = DataLoader(data, **given)
    with suppress(TypeError):
        print(number, "length", len(loader))
    for epoch in range(3):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        most = numbers.choice([FULL if loader.drop_last else ALL, 1, 2])
        print(number, epoch, read(loader, most, known))


def main(DataLoader):
    for number in range(*map(int, sys.argv[1:])):
        torch.manual_seed(number)
        try:
            with iterators_freed():
                play(DataLoader, number)
        except Exception as error:
            print(number, "raises", kind(error))
        # Both loaders draw as much from the global generator.
        print(number, "then", torch.randint(1000, (1,)).item())


if __name__ == "__main__":
    run(main)
