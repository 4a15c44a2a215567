"""functools in a script: lru_cache on functions and methods, cached_property, singledispatch."""

import functools

from loaders import WORKERS, attempt, batches, run


@functools.cache
def load(row):
    return row * 2


@functools.singledispatch
def convert(value):
    return -1.0


@convert.register
def _(value: int):
    return value + 0.5


class Rows:
    def __len__(self):
        return 6


class CachedFunction(Rows):
    def __getitem__(self, row):
        return load(row)


class CachedMethod(Rows):
    @functools.lru_cache
    def value(self, row):
        return row + 1

    def __getitem__(self, row):
        return self.value(row)


class CachedProperty(Rows):
    @functools.cached_property
    def values(self):
        return list(range(100, 106))

    def __getitem__(self, row):
        return self.values[row]


class Dispatched(Rows):
    def __getitem__(self, row):
        return convert(row)


class MethodDispatched(Rows):
    @functools.singledispatchmethod
    def value(self, row):
        return "?"

    @value.register
    def _(self, row: int):
        return "int"

    def __getitem__(self, row):
        return self.value(row)


def main(DataLoader):
    for kind in (CachedFunction, CachedMethod, CachedProperty, Dispatched, MethodDispatched):
        for used in (False, True):
            rows = kind()
            if used:
                rows[0]
            for workers in WORKERS:
                loader = DataLoader(rows, batch_size=4, **workers)
                what = f"{kind.__name__} {'looked at' if used else 'new'} {workers}"
                attempt(what, lambda: batches(loader))


if __name__ == "__main__":
    run(main)
