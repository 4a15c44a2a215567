"""A second look with a memory says what a first one without would, whatever has changed."""

import random
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.recipe.fingerprint import Memory, content, look

SIZE = 3_000  # elements: enough to be remembered


class Dataset:
    kinds = ("a", "b")

    def __init__(self, **state: Any) -> None:
        super().__init__()
        vars(self).update(state)

    def __getitem__(self, row: int) -> Any:
        return row, settings.SIZE


settings = types.ModuleType("their_settings")
settings.SIZE = 1


class Looks:
    """Look at one dataset again and again; every answer is checked against a look without."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.memory = Memory()

    def name(self) -> str:
        seen = look(self.dataset, memory=self.memory)
        assert seen == look(self.dataset)
        assert seen.opaque == ""
        return seen.name

    def notice(self, change: Any) -> None:
        """Check that a change is seen, and nothing else before and after it."""
        before = self.name()
        assert self.name() == before
        change()
        after = self.name()
        assert after != before
        assert self.name() == after


def pairs(count: int = SIZE) -> list[tuple[str, int]]:
    return [(f"/data/{number}.jpg", number % 10 + 300) for number in range(count)]


def put(container: Any, key: Any, value: Any) -> Any:
    return lambda: container.__setitem__(key, value)


def test_lists_of_pairs_are_compared_element_by_element():
    samples = pairs()
    looks = Looks(Dataset(samples=samples))
    looks.notice(lambda: random.Random(0).shuffle(samples))
    looks.notice(put(samples, SIZE // 2, ("/data/other.jpg", 1)))
    looks.notice(put(samples, -1, (samples[-1][0], 7)))
    looks.notice(lambda: samples.reverse())
    looks.notice(lambda: samples.append(samples[0]))
    looks.notice(lambda: samples.pop())
    first, second = samples[10], samples[20]
    looks.notice(lambda: samples.__setitem__(slice(10, 21, 10), [second, first]))


def test_equal_elements_that_are_other_objects_leave_the_name():
    samples = pairs()
    looks = Looks(Dataset(samples=samples))
    before = looks.name()
    samples[:] = pairs()
    assert looks.name() == before


@pytest.mark.parametrize("other", [True, 1.0, np.int64(1), "1", None])
def test_a_label_of_another_type_is_noticed_though_it_may_be_equal(other):
    targets = [1] * SIZE
    Looks(Dataset(targets=targets)).notice(put(targets, 1_234, other))


def test_two_lists_of_one_length_and_beginning_are_not_confused():
    one, other = [0] * SIZE, [0] * SIZE
    other[-1] = 1
    looks = Looks(Dataset(one=one, other=other))

    def swap() -> None:
        looks.dataset.one, looks.dataset.other = other, one

    looks.notice(swap)


@pytest.mark.parametrize(
    "element",
    [
        lambda n: {"path": str(n), "label": n},
        lambda n: [str(n), n],
        lambda n: (str(n), [n]),
        lambda n: (str(n), (n, {"box": [n]})),
        lambda n: Dataset(path=str(n)),
        lambda n: {n},
        lambda n: np.array([n]),
    ],
    ids=["dict", "list", "list in tuple", "deep in tuples", "object", "set", "array"],
)
def test_a_change_inside_an_element_is_noticed(element):
    samples = [element(number) for number in range(SIZE // 2)]

    def change() -> None:
        one: Any = samples[700]
        while type(one) is tuple:
            one = one[-1]
        if type(one) is Dataset:
            one.path = "other"
        elif type(one) is set:
            one.add(-1)
        elif type(one) is dict and "box" in one:
            one["box"][0] = -1
        else:
            one[list(one)[-1] if type(one) is dict else -1] = -1

    Looks(Dataset(samples=samples)).notice(change)
    Looks(Dataset(samples=tuple(samples))).notice(lambda: change_first(samples))


def change_first(samples: list[Any]) -> None:
    one = samples[0]
    while type(one) is tuple:
        one = one[-1]
    if type(one) is Dataset:
        one.label = 5
    elif type(one) is set:
        one.clear()
    elif type(one) is dict:
        one["new"] = 1
    else:
        one[0] = -5


def test_large_dicts_and_sets_are_compared_key_by_key():
    index: dict[Any, Any] = {f"key {number}": number + 1_000 for number in range(SIZE)}
    names = {f"name {number}" for number in range(SIZE)}
    nested = {number: [number] for number in range(SIZE)}
    looks = Looks(Dataset(index=index, names=names, nested=nested))
    looks.notice(put(index, "key 7", -1))
    looks.notice(lambda: index.pop("key 7"))
    looks.notice(lambda: index.update(other=1))
    looks.notice(lambda: names.add("other"))
    looks.notice(lambda: names.remove("name 3"))
    looks.notice(put(nested[5], 0, -1))
    before = looks.name()
    index["key 8"] = index.pop("key 8")  # only moved to the end
    assert looks.name() == before
    swapped = dict(zip(index, [*list(index.values())[1:], index["key 0"]], strict=True))
    looks.notice(lambda: index.update(swapped))


def test_paths_and_numbers_are_compared_one_by_one():
    paths = [Path(f"/data/{number}") for number in range(SIZE)]
    weights = [np.float32(number) for number in range(SIZE)]
    looks = Looks(Dataset(paths=paths, weights=weights))
    looks.notice(put(paths, 5, Path("/data/other")))
    looks.notice(put(weights, 5, np.float64(5)))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "U3", "M8[s]", "c16"])
def test_arrays_are_compared_byte_by_byte(dtype):
    rng = np.random.default_rng(0)
    array = rng.integers(-100 if dtype != "u1" else 0, 100, 300_001).astype(dtype)
    looks = Looks(Dataset(array=array))
    looks.notice(put(array, slice(None), array[::-1].copy()))
    looks.notice(lambda: rng.shuffle(array))
    looks.notice(put(array, -1, array[np.flatnonzero(array != array[-1])[0]]))
    looks.notice(put(array, 5, array[np.flatnonzero(array != array[5])[0]]))


def test_rows_and_parts_of_arrays_are_compared_too():
    one_hot = np.eye(64)[np.random.default_rng(0).integers(0, 64, 4_096)]
    record = np.zeros(20_000, [("a", "u1"), ("b", "f8")])
    looks = Looks(Dataset(hot=one_hot, record=record, part=one_hot[:, ::2]))
    looks.notice(lambda: np.random.default_rng(1).shuffle(one_hot))
    looks.notice(lambda: record["b"].__setitem__(19_999, 1))
    looks.notice(lambda: one_hot.__setitem__((4_095, 62), 0.5))


def test_tensors_are_compared_too():
    torch = pytest.importorskip("torch")
    tensor = torch.randn(200_001)
    looks = Looks(Dataset(tensor=tensor, turned=torch.randn(300, 300).T))
    looks.notice(lambda: tensor.__setitem__(200_000, 7.0))
    looks.notice(lambda: tensor.neg_())
    looks.notice(lambda: tensor.copy_(tensor.flip(0)))
    looks.notice(lambda: looks.dataset.turned.add_(1))


def test_attributes_class_attributes_and_globals_are_looked_at(monkeypatch):
    dataset = Dataset(epoch=0, samples=pairs())
    looks = Looks(dataset)
    monkeypatch.setitem(sys.modules, "their_settings", settings)
    looks.notice(lambda: setattr(dataset, "epoch", 1))
    looks.notice(lambda: setattr(dataset, "new", None))
    looks.notice(lambda: monkeypatch.setattr(Dataset, "kinds", ("b", "a")))
    looks.notice(lambda: monkeypatch.setattr(settings, "SIZE", 224))
    looks.notice(lambda: monkeypatch.setattr(Dataset, "__len__", lambda self: 3, raising=False))


def test_nothing_large_is_digested_twice(monkeypatch):
    array = np.arange(100_000)
    dataset = Dataset(array=array, samples=pairs())
    memory = Memory()
    first = look(dataset, memory=memory)

    def refuse(*_: Any) -> Any:
        raise AssertionError("digested again")

    monkeypatch.setattr(content, "_bytes_digest", refuse)
    monkeypatch.setattr("joader.recipe.fingerprint.anatomy.bulk", refuse)
    for _ in range(3):
        assert look(dataset, memory=memory) == first
    array[0] = 1
    assert "AssertionError: digested again" in look(dataset, memory=memory).opaque


def test_what_the_dataset_let_go_is_let_go_at_the_next_look():
    dataset = Dataset(samples=pairs())
    element = dataset.samples[0]
    memory = Memory()
    alone = sys.getrefcount(element)
    look(dataset, memory=memory)
    held = sys.getrefcount(element)
    dataset.samples = None
    look(dataset, memory=memory)
    after = sys.getrefcount(element)
    assert (held, after) == (alone + 1, alone - 1)
