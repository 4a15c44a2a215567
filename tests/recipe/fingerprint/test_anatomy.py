"""Fingerprints of state: equal for equal objects however built, different for different ones."""

import collections
import enum
import functools
import logging
import os
import random
import sqlite3
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.errors import BadArgument
from joader.recipe.fingerprint import anatomy, bulk, fingerprint
from tests.trials import trials


class Box:
    """An object with any attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("left", "right")


class Point(NamedTuple):
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Record:
    path: str
    label: int = 0
    boxes: list[float] = field(default_factory=list)


# One script with most of what a dataset may hold; it prints its fingerprint.
SCRIPT = """
import argparse, collections, enum, functools, logging, os, pathlib, random, re, sys, time
from dataclasses import dataclass, field
from random import randint, random as draw
import numpy as np
from joader.recipe.fingerprint import fingerprint

log = logging.getLogger(__name__)
environment = os.environ
NAMES = {"cat", "dog", "bird", "fish", ("a", 1), None, 2.5}
WEIGHTS = {frozenset({"x", "y", "z"}): 1, "b": {"q", "r", "s"}}
args = argparse.Namespace(size=3, started=time.time())

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Record:
    path: str
    tags: set = field(default_factory=lambda: {"one", "two", "three"})

@functools.lru_cache(maxsize=8)
def weight(name):
    return WEIGHTS.get(name, 0)

def scaled(by):
    def scale(value, *, offset=1):
        return value * by + offset + weight("b") + (value in {"p", "q", "r"})
    return scale

class Base:
    registry = {}
    def __init_subclass__(cls):
        Base.registry[cls.__name__] = cls

class Dataset(Base):
    kinds = frozenset({"u", "v", "w"})
    def __init__(self):
        super().__init__()
        self.records = [Record(str(number)) for number in range(200)]
        self.few = {Colour.RED: {Record, Base}, Colour.BLUE: NAMES}
        self.transform = functools.partial(scaled(2), offset=Colour.BLUE)
        self.array = np.arange(10.0)
        self.rng = np.random.default_rng(0)
        self.path = pathlib.Path("/data")
        self.pattern = re.compile("a+")
        self.me = self
        self.ring = {"one": [self, {self, Colour.RED}], "two": self.few}
    def __len__(self):
        return len(self.records)
    def __getitem__(self, row):
        import json
        log.info("%s", row)
        environment.get("HOME")
        return self.transform(row) + draw() + randint(0, 1) + np.random.rand() + args.size

print(fingerprint(Dataset()))
"""


def run(script: Path, seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "LOOKS": str(seed)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.check_output([sys.executable, str(script)], env=environment, text=True)


def test_a_script_started_twice_has_one_fingerprint_and_a_changed_one_another(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    first = {run(script, seed) for seed in (0, 1, 2)}
    assert len(first) == 1
    script.write_text(SCRIPT.replace("value * by", "value + by"))
    assert run(script, 0) not in first


def rebuilt(value: Any, luck: random.Random) -> Any:
    """Return an equal object in which nothing is shared and every order that may differ does."""
    if type(value) in (list, tuple):
        return type(value)(rebuilt(one, luck) for one in value)
    if type(value) in (set, frozenset):
        return type(value)(rebuilt(one, luck) for one in luck.sample(list(value), len(value)))
    if type(value) is dict:
        items = luck.sample(list(value.items()), len(value))
        return {rebuilt(key, luck): rebuilt(one, luck) for key, one in items}
    if type(value) is Box:
        return Box(**rebuilt(vars(value), luck))
    return value


def written(value: Any) -> str:
    """Write a value down so that equal ones of equal types give equal text: the model."""
    kind = type(value).__name__
    if type(value) in (list, tuple):
        return f"{kind}({','.join(map(written, value))})"
    if type(value) in (set, frozenset):
        return f"{kind}({','.join(sorted(map(written, value)))})"
    if type(value) is dict:
        return f"{kind}({sorted((written(key), written(one)) for key, one in value.items())})"
    if type(value) is Box:
        return f"Box({written(vars(value))})"
    return f"{kind} {value!r}"


KEYS = st.one_of(
    st.integers(-2, 2), st.sampled_from(["", "a", "b"]), st.booleans(), st.none(), st.just(b"a")
)
SCALARS = KEYS | st.sampled_from([0.0, -0.0, 1.0, float("nan"), np.int64(1), np.float32(1), 2**70])
HASHABLE = KEYS | st.tuples(KEYS) | st.tuples(KEYS, KEYS) | st.frozensets(KEYS, max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.sets(HASHABLE, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b"]), inner).map(lambda state: Box(**state)),
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("min_size", [bulk.MIN_SIZE, 0], ids=["walked", "by column"])
@settings(deadline=None, max_examples=trials(300, 100))
@given(one=VALUES, other=VALUES, luck=st.randoms(use_true_random=False))
def test_fingerprints_are_equal_exactly_where_the_values_are(min_size, one, other, luck):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anatomy, "MIN_SIZE", min_size)
        assert fingerprint(rebuilt(one, luck)) == fingerprint(one)
        assert (fingerprint(one) == fingerprint(other)) == (written(one) == written(other))


@settings(deadline=None, max_examples=100)
@given(data=st.data(), luck=st.randoms(use_true_random=False))
def test_a_graph_with_rings_has_one_fingerprint_in_whatever_order_it_was_built(data, luck):
    count = data.draw(st.integers(1, 6))
    numbers = st.integers(0, count - 1)
    names = data.draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count))
    after = data.draw(st.lists(st.lists(numbers, max_size=3), min_size=count, max_size=count))
    among = data.draw(st.lists(st.sets(numbers, max_size=3), min_size=count, max_size=count))

    def built() -> Box:
        boxes = [Box() for _ in range(count)]
        for number in luck.sample(range(count), count):
            members = luck.sample(sorted(among[number]), len(among[number]))
            state = {
                "name": names[number],
                "after": [boxes[one] for one in after[number]],
                "among": {boxes[one] for one in members},
            }
            vars(boxes[number]).update(luck.sample(list(state.items()), len(state)))
        return boxes[0]

    assert fingerprint(built()) == fingerprint(built())


def test_a_change_anywhere_in_a_ring_changes_the_fingerprint_of_every_member():
    def ring(names: str) -> Box:
        boxes = [Box(name=name) for name in names]
        for number, box in enumerate(boxes):
            box.next = boxes[(number + 1) % len(boxes)]
        return boxes[0]

    names = ["abcd", "abce", "abed", "ebcd", "abdc", "aaaa", "aaab", "aaba", "aaaaa"]
    assert len({fingerprint(ring(name)) for name in names}) == len(names) - 1  # aaaa walks as aaaaa


def test_an_object_nested_deeper_than_the_stack_has_a_fingerprint():
    chain = Box(next=None)
    for _ in range(5_000):
        chain = Box(next=[chain])
    assert fingerprint(chain) == fingerprint(chain)
    ring: list[Any] = []
    ring.extend([ring] * 100)
    assert fingerprint(ring) == fingerprint(ring)


def different(*values: Any) -> None:
    """Check that fingerprints stay the same from call to call and differ from value to value."""
    assert [fingerprint(value) for value in values] == [fingerprint(value) for value in values]
    assert len({fingerprint(value) for value in values}) == len(values)


def test_values_of_any_length_have_fingerprints():
    different(2**20_000, 2**20_001, "a" * 10**6, "a" * 10**6 + "b", {2**20_000: 1}, {"a" * 999: 1})


@pytest.mark.parametrize("size", [3, 100])
def test_paths_and_texts_count_as_they_are(size):
    one, other = [f"/data/{n}" for n in range(size)], [f"/data/{n}" for n in range(size)]
    other[-1] = "/data/x"
    different(
        one, other, list(map(Path, one)), list(map(PurePosixPath, one)), list(map(Path, other))
    )
    path = Path("/data/a")
    before = fingerprint(path)
    assert path.parts
    assert hash(path)
    assert fingerprint(path) == fingerprint(Path("/data") / "a") == before


def test_records_named_tuples_slots_and_members_count_by_class_and_state():
    left, right = Slotted(), Slotted()
    left.left, right.right = 1, 1
    different(left, right, Slotted(), Point(1), Point(1, 1), (1, 0), Record("a"), Record("b"))
    different(Colour.RED, Colour.BLUE, Colour, Access.READ, Access.READ | Access.WRITE, 1)
    different(Box(path="a", label=0, boxes=[]), Record("a"), {"path": "a", "label": 0, "boxes": []})


def test_order_counts_in_an_ordered_dict_and_a_deque_only():
    def forward(kind: Any) -> str:
        return fingerprint(kind([("a", 1), ("b", 2)]))

    def backward(kind: Any) -> str:
        return fingerprint(kind([("b", 2), ("a", 1)]))

    for kind in (dict, collections.Counter, lambda items: collections.defaultdict(list, items)):
        assert forward(kind) == backward(kind)
    for kind in (collections.OrderedDict, collections.deque, list):
        assert forward(kind) != backward(kind)


@pytest.mark.parametrize("make", [random.Random, np.random.default_rng, np.random.RandomState])
def test_a_random_generator_counts_by_its_state(make):
    one, same, other = make(3), make(3), make(4)
    assert fingerprint(one) == fingerprint(same)
    different(one, other)
    same.random()
    different(one, same)


def test_what_a_library_keeps_under_a_name_is_that_name():
    def state() -> list[str]:
        return [fingerprint(one) for one in (random.seed, np.random.rand, random.random)]

    before = state()
    random.random()
    np.random.rand()  # noqa: NPY002
    assert state() == before


def test_loggers_locks_and_weak_references_do_not_count():
    assert fingerprint(logging.getLogger("one")) == fingerprint(logging.getLogger("two"))
    held, free = threading.Lock(), threading.Lock()
    target = Box()
    with held:
        assert fingerprint(held) == fingerprint(free)
        assert fingerprint(threading.Condition(held)) == fingerprint(threading.Condition(free))
    assert fingerprint(weakref.ref(target)) == fingerprint(weakref.ref(held_by_no_one := Box()))
    assert held_by_no_one is not target
    assert fingerprint(threading.local()) == fingerprint(threading.local())


class Lazy:
    def __init__(self) -> None:
        self.number = 3

    @functools.cached_property
    def table(self) -> list[int]:
        return list(range(self.number))

    @functools.lru_cache  # noqa: B019
    def looked_up(self, row: int) -> int:
        return self.table[row]

    def __getitem__(self, row: int) -> Any:
        return self.looked_up(row), Access(row + 1) | Access.WRITE


def test_using_a_dataset_does_not_change_its_fingerprint():
    dataset = Lazy()
    before = fingerprint(dataset)
    for _ in range(20):  # enough for the interpreter to specialise the bytecode
        assert dataset[0] == (0, Access.READ | Access.WRITE)
    assert "table" in vars(dataset)
    assert fingerprint(dataset) == before
    assert len({fingerprint([Lazy(), dataset] * 50), fingerprint([dataset, Lazy()] * 50)}) == 1
    dataset.number = 4
    assert fingerprint(dataset) != before


class Travelling(Box):
    def __getstate__(self) -> Any:
        return {name: value for name, value in vars(self).items() if name != "handle"}


def test_state_is_what_getstate_says():
    with sqlite3.connect(":memory:") as handle:
        dataset = Travelling(root="/data", handle=handle)
        assert fingerprint(dataset) == fingerprint(Travelling(root="/data", handle=3))
        different(dataset, Travelling(root="/other"))
    handle.close()


def test_what_has_no_state_is_refused_with_the_path_to_it():
    handle = sqlite3.connect(":memory:")
    dataset = Box(transform=Box(caches=[None, {"rows": handle}]))
    with pytest.raises(BadArgument) as caught:
        fingerprint(dataset)
    handle.close()
    message = str(caught.value)
    assert message.startswith("dataset.transform.caches[1]['rows'] is a sqlite3.Connection, which")
    assert "leave it out in __getstate__" in message
    with pytest.raises(BadArgument, match=r"^transform\.steps is a builtins\.generator"):
        fingerprint(Box(steps=(step for step in [])), name="transform")


def test_torch_generators_count_by_state_and_its_own_by_name():
    torch = pytest.importorskip("torch")
    one, other = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)
    different(one, other)
    assert fingerprint(one) == fingerprint(torch.Generator().manual_seed(1))
    before = fingerprint(torch.default_generator)
    torch.rand(1)
    assert fingerprint(torch.default_generator) == before


def test_torch_datasets_and_modules_have_fingerprints():
    torch = pytest.importorskip("torch")
    data = torch.utils.data
    one, other = data.TensorDataset(torch.ones(3)), data.TensorDataset(torch.zeros(3))
    different(one, other, data.Subset(one, [0]), data.Subset(one, [1]), torch.nn.ReLU())


def test_pictures_count_by_content():
    image = pytest.importorskip("PIL.Image")
    black, dark, flat = image.new("L", (4, 4)), image.new("L", (4, 4), 1), image.new("1", (4, 4))
    different(black, dark, flat, image.new("L", (2, 8)))
    assert fingerprint(black) == fingerprint(image.new("L", (4, 4), 0))
