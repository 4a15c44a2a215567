"""One script has one fingerprint, however it was started and whatever Python draws at random."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Most of what a dataset may hold or reach, in one file that is run, spawned and imported.
SCRIPT = """
import argparse, collections, contextvars, enum, functools, logging, multiprocessing, os, pathlib
import random, re, threading, time, weakref
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar
import numpy as np
from joader.recipe.fingerprint import fingerprint

log = logging.getLogger(__name__)
LOCK = threading.Lock()
NAMES = {"cat", "dog", "bird", "fish", ("a", 1), None, 2.5}
args = argparse.Namespace(size=3, started=time.time())
scale = contextvars.ContextVar("scale", default=2)
T = TypeVar("T")

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"

class Pair(NamedTuple):
    x: int
    y: int = 0

@dataclass(frozen=True)
class Record:
    path: str
    tags: frozenset = frozenset({"one", "two", "three"})

@functools.singledispatch
def read(value):
    return value

@read.register(int)
def _(value):
    return value + 1

@read.register(Record)
def _(value):
    return value.path

@functools.lru_cache
def load(row):
    return row * 2

def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        log.info("%s", arguments)
        logging.getLogger(__name__).info("again")
        return function(*arguments)
    return wrapper

class Base(Generic[T]):
    registry = {}
    def __init_subclass__(cls, **options):
        Base.registry[cls.__name__] = cls

class Delegating:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)

class Dataset(Base[int]):
    kinds = frozenset({"u", "v", "w"})
    def __init__(self):
        super().__init__()
        self.records = [Record(str(number)) for number in range(200)]
        self.pairs = [Pair(1), Pair(2)]
        self.few = {Colour.RED: {Record, Base}, Colour.BLUE: NAMES}
        self.transform = functools.partial(logged(lambda row: row + 1), 3)
        self.array = np.arange(10.0)
        self.inner = Delegating(self)
        self.lock = LOCK
        self.shared_lock = multiprocessing.Lock()
        self.me = weakref.ref(self)
        self.ring = {"one": [self, {self, Colour.RED}], "two": self.few}
        self.counts = collections.Counter("abcabc")
        {more}
    @functools.cached_property
    def table(self):
        return time.time()
    @functools.singledispatchmethod
    def get(self, row):
        return row
    @get.register
    def _(self, row: int):
        return row + self.table
    @logged
    def __getitem__(self, row):
        from json import dumps
        return read(load(row)), scale.get(), args.size, os.environ.get("HOME"), os.getenv("LANG")

def show():
    dataset = Dataset()
    before = fingerprint(dataset)
    dataset.table, dataset[3], dataset.get(3), dataset.get("a")
    assert fingerprint(dataset) == before
    print(before, flush=True)

if __name__ == "__main__":
    show()
    for method in ("spawn", "forkserver"):
        child = multiprocessing.get_context(method).Process(target=show)
        child.start()
        child.join()
        assert child.exitcode == 0
"""


def fingerprints(folder: Path, seed: int, *command: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "LOOKS": str(seed)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, sys.path)])
    answer = subprocess.check_output([sys.executable, *command], env=environment, text=True)
    return answer.split()


def check(folder: Path, more: str) -> None:
    script = folder / "their_training.py"
    script.write_text(SCRIPT.replace("{more}", more))
    found = [fingerprints(folder, seed, str(script)) for seed in (0, 1)]
    found.append(fingerprints(folder, 2, "-m", "their_training"))
    found.append(fingerprints(folder, 3, "-c", "import their_training; their_training.show()"))
    assert [len(one) for one in found] == [3, 3, 3, 1]
    assert len(set().union(*found)) == 1


def test_a_script_run_spawned_and_imported_has_one_fingerprint(tmp_path):
    check(tmp_path, "pass")


def test_progress_bars_do_not_tell_processes_apart(tmp_path):
    pytest.importorskip("tqdm")
    check(tmp_path, "import tqdm; self.bar = tqdm.tqdm(self.records, file=open(os.devnull, 'w'))")


@pytest.mark.slow  # torch is imported ten times
def test_compiled_functions_do_not_tell_processes_apart(tmp_path):
    pytest.importorskip("torch")
    check(
        tmp_path,
        "import torch; self.compiled = torch.compile(read, backend='eager'), "
        "torch.compile(torch.nn.ReLU(), backend='eager')",
    )


LATE = """
import sys
import numpy as np
from joader.recipe.fingerprint import fingerprint

class Dataset:
    def __getitem__(self, row):
        return np.random.default_rng(row), np.fft.fft([row])

if sys.argv[1] == "loaded":
    np.random, np.fft
assert {part in sys.modules for part in ("numpy.random", "numpy.fft")} == {sys.argv[1] == "loaded"}
print(fingerprint(Dataset()))
"""


def test_parts_of_numpy_that_are_loaded_by_now_do_not_tell_processes_apart(tmp_path):
    script = tmp_path / "their_training.py"
    script.write_text(LATE)
    found = [fingerprints(tmp_path, 0, str(script), how) for how in ("loaded", "late")]
    assert found[0] == found[1]
