"""Code that cannot be imported: local classes, lambdas, closures, a module loaded from a path.

Under fork all of it works; under spawn and forkserver torch raises, and which error counts.
"""

import functools
import importlib.util
import sys
from pathlib import Path

from loaders import attempt, batches, run
from torch.utils.data import Dataset

CODE = """
class Rows:
    def __len__(self):
        return 4
    def __getitem__(self, row):
        return row + 500
"""


class Transformed(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 4

    def __getitem__(self, row):
        return self.transform(row)


class Wrapper:
    """Delegates whatever it has not got, without a guard."""

    def __init__(self, data):
        self.data = data

    def __getattr__(self, name):
        return getattr(self.data, name)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, row):
        return self.data[row]


def scaled(by, value):
    return by * value


def closure(offset):
    def add(value):
        return value + offset

    return add


def local_class():
    class Local(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, row):
            return -row

    return Local()


def from_path():
    path = Path("elsewhere") / "plugin.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE)
    spec = importlib.util.spec_from_file_location("a_plugin", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["a_plugin"] = module
    spec.loader.exec_module(module)
    return module.Rows()


def executed():
    names = {}
    exec(CODE, names)
    return names["Rows"]()


def main(DataLoader):
    cases = {
        "lambda": Transformed(lambda value: value + 1),
        "partial": Transformed(functools.partial(scaled, 3)),
        "closure": Transformed(closure(40)),
        "bound method": Transformed([5, 6, 7, 8].__getitem__),
        "local class": local_class(),
        "module from a path": from_path(),
        "executed": executed(),
        "delegating": Wrapper([1, 2, 3]),
    }
    for name, rows in cases.items():
        for workers in (2, 0):
            loader = DataLoader(rows, batch_size=3, num_workers=workers)
            attempt(f"{name} {workers}", lambda: batches(loader))
    mixed = {"batch_size": 3, "num_workers": 2}
    collating = DataLoader(range(4), collate_fn=lambda samples: sum(samples), **mixed)
    attempt("collate_fn", lambda: batches(collating))
    beginning = DataLoader(range(4), worker_init_fn=lambda worker: None, **mixed)
    attempt("worker_init_fn", lambda: batches(beginning))


if __name__ == "__main__":
    run(main)
