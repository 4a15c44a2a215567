"""What users put under a library's names is seen; what is the library's own is its version."""

import builtins
import functools
import json
import string
import sys
import textwrap
import types
from typing import Any

import numpy as np
import pytest

from joader.recipe.fingerprint import fingerprint


def loaded(source: str, **names: Any) -> Any:
    namespace: dict[str, Any] = {"__name__": "a_script", **names}
    exec(compile(source, "a_script.py", "exec"), namespace)
    return namespace["dataset"]


READING = """
import json, textwrap, string
import json as other
from json import decoder
import xml.dom.minidom
class Dataset:
    def __getitem__(self, row):
        {late}
        return {expression}
dataset = Dataset()
"""


def reading(expression: str, late: str = "pass", **names: Any) -> Any:
    return loaded(READING.format(expression=expression, late=late), **names)


def one(value: Any) -> Any:
    return value + 1


def two(value: Any) -> Any:
    return value + 2


WAYS = {
    "module": ("json.loads(row)", "pass"),
    "as": ("other.loads(row)", "pass"),
    "late": ("json.loads(row)", "import json"),
    "late as": ("j.loads(row)", "import json as j"),
    "late name": ("load(row)", "from json import loads as load"),
}


def functions() -> dict[str, tuple[Any, Any]]:
    def closed(by: int) -> Any:
        return lambda value: value + by

    class Loader:
        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

        def __call__(self, value: Any) -> Any:
            return value + self.by

        def load(self, value: Any) -> Any:
            return value + self.by

    return {
        "function": (one, two),
        "closure": (closed(1), closed(2)),
        "partial": (functools.partial(one, 1), functools.partial(one, 2)),
        "cache": (functools.lru_cache(one), functools.lru_cache(two)),
        "wraps": (functools.wraps(json.loads)(closed(1)), functools.wraps(json.loads)(closed(2))),
        "method": (Loader(1).load, Loader(2).load),
        "object": (Loader(1), Loader(2)),
        "class": (type("A", (Loader,), {}), type("A", (Loader,), {"extra": 1})),
    }


@pytest.mark.parametrize("kind", functions())
@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_a_library_that_was_replaced_is_seen(monkeypatch, way, kind):
    dataset = reading(*WAYS[way])
    found = [fingerprint(dataset)]
    for value in functions()[kind]:
        monkeypatch.setattr(json, "loads", value)
        # `from json import loads` in a function reads what is there when it runs
        found.append(fingerprint(dataset))
        assert fingerprint(dataset) == found[-1]
    assert len(set(found)) == 3
    monkeypatch.undo()
    assert fingerprint(dataset) == found[0]


def test_another_object_of_a_library_is_seen(monkeypatch):
    dataset = reading("json.loads(row)")
    before = fingerprint(dataset)
    for value in (json.dumps, len, textwrap.dedent, string.Formatter, np.add):
        monkeypatch.setattr(json, "loads", value)
        assert fingerprint(dataset) != before


def test_a_plain_value_of_a_library_counts(monkeypatch):
    dataset = reading("row in string.digits")
    before = fingerprint(dataset)
    monkeypatch.setattr(string, "digits", "01")
    assert fingerprint(dataset) != before


def test_a_module_in_the_place_of_a_librarys_is_seen(monkeypatch):
    mine = types.ModuleType("mine_not_json")
    exec("def loads(row):\n    return row\n", vars(mine))
    dataset = reading("xml.dom.minidom.parse(row)")
    before = fingerprint(dataset)
    monkeypatch.setitem(sys.modules, "mine_not_json", mine)
    monkeypatch.setattr(sys.modules["xml.dom"], "minidom", mine)
    assert fingerprint(dataset) != before


def test_a_library_is_followed_through_a_users_module(monkeypatch):
    helpers = types.ModuleType("their_patch_helpers")
    helpers.json = json
    dataset = loaded("dataset = lambda row: helpers.json.loads(row)", helpers=helpers)
    before = fingerprint(dataset)
    monkeypatch.setattr(json, "loads", one)
    assert fingerprint(dataset) != before


METHODS = {
    "function": (one, two),
    "static": (staticmethod(one), staticmethod(two)),
    "class": (classmethod(one), classmethod(two)),
    "property": (property(one), property(two)),
}


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: reading("textwrap.TextWrapper()"),
        lambda: reading("T()", "from textwrap import TextWrapper as T"),
        lambda: types.SimpleNamespace(wrapper=textwrap.TextWrapper()),
        lambda: textwrap.TextWrapper,
        lambda: type("Mine", (textwrap.TextWrapper,), {}),
    ],
    ids=["read", "late", "instance", "class", "base"],
)
def test_a_method_of_a_librarys_class_that_was_replaced_is_seen(monkeypatch, make, kind):
    dataset = make()
    found = [fingerprint(dataset)]
    for value in METHODS[kind]:
        monkeypatch.setattr(textwrap.TextWrapper, "fill", value)
        found.append(fingerprint(dataset))
    assert len(set(found)) == 3
    monkeypatch.undo()
    assert fingerprint(dataset) == found[0]


def test_a_new_method_of_a_librarys_class_is_seen(monkeypatch):
    dataset = reading("textwrap.TextWrapper().new()")
    before = fingerprint(dataset)
    monkeypatch.setattr(textwrap.TextWrapper, "new", one, raising=False)
    assert fingerprint(dataset) != before


def test_a_built_in_function_that_was_replaced_is_seen(monkeypatch):
    dataset = reading("open(row)")
    before = fingerprint(dataset)
    found = []
    for value in (one, two):
        monkeypatch.setattr(builtins, "open", value)
        found.append(fingerprint(dataset))
    monkeypatch.undo()
    assert len({before, *found}) == 3


def test_having_loaded_a_library_or_asked_it_for_a_name_does_not_count(monkeypatch):
    lazy = types.ModuleType("json.lazy")
    lazy.__getattr__ = lambda name: 5
    monkeypatch.setitem(sys.modules, "json.lazy", lazy)
    monkeypatch.setattr(json, "lazy", lazy, raising=False)
    dataset = reading("json.lazy.SIZE")
    before = fingerprint(dataset)
    lazy.SIZE = 5  # as a module does that keeps what it has found
    assert fingerprint(dataset) == before
    late = reading("plistlib.FMT_XML, plistlib.dumps", "import plistlib")
    monkeypatch.delitem(sys.modules, "plistlib", raising=False)
    before = fingerprint(late)
    assert late[0]
    assert "plistlib" in sys.modules
    assert fingerprint(late) == before


def test_names_of_numpy_and_torch_do_not_change_from_look_to_look():
    expression = "np.abs, np.sum, np.pi, np.random.rand, np.linalg.norm, np.float32, np.nan"
    dataset = reading(expression, np=np)
    assert fingerprint(dataset) == fingerprint(reading(expression, np=np))
    torch = pytest.importorskip("torch")
    expression = "torch.add, torch.float32, torch.nn.functional.relu, torch.ops.aten, torch.Tensor"
    dataset = reading(expression, torch=torch)
    before = fingerprint(dataset)
    assert dataset[0]
    assert fingerprint(dataset) == before
