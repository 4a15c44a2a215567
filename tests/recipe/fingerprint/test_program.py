"""Fingerprints of code: what changes a sample changes the fingerprint, moving code does not."""

import argparse
import importlib
import sys
import types
from typing import Any

import pytest

from joader.recipe.fingerprint import fingerprint

SCRIPT = """
import functools
import numpy as np

SIZE = 3
args = None

def helper(value):
    return value + 1

def other_helper(value):
    return helper(value)

def unused(value):
    return value

def scaled(by):
    return lambda value: value * by

def twice(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(function(*arguments))
    return wrapper

class Base:
    step = 1
    def start(self):
        return 7

class Dataset(Base):
    def __init__(self, transform):
        super().__init__()
        self.transform = transform
    def __len__(self):
        return 10
    def __getitem__(self, row, shift=0, *, key=0):
        inner = [other_helper(one) for one in range(SIZE)]
        return self.transform(np.sum(inner)) + self.start() + shift + key
    @property
    def first(self):
        return self[0]
    @staticmethod
    def fixed():
        return "fixed"
    @classmethod
    def made(cls):
        return cls(None)
    @twice
    def doubled(self):
        return 2

dataset = Dataset(scaled(2))
"""


def loaded(source: str, **names: Any) -> dict[str, Any]:
    """Run a script and return its names."""
    namespace: dict[str, Any] = {"__name__": "a_script", **names}
    exec(compile(source, "a_script.py", "exec"), namespace)
    return namespace


def of(source: str) -> str:
    return fingerprint(loaded(source)["dataset"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value + 1", "value + 2"),
        ("value + 1", "value - 1"),
        ("value + 1", "value + 1.0"),
        ("value + 1", "value + True"),
        ("SIZE = 3", "SIZE = 4"),
        ("shift=0", "shift=1"),
        ("key=0", "key=1"),
        ("key=0):", "key):"),
        ("scaled(2)", "scaled(3)"),
        ("value * by", "by * value"),
        ("step = 1", "step = 2"),
        ("return 7", "return 8"),
        ("Dataset(Base)", "Dataset"),
        ("return 10", "return 11"),
        ("np.sum", "np.max"),
        ("import numpy as np", "import math as np"),
        ("return helper(value)", "return abs(value)"),
        ("self[0]", "self[1]"),
        ('"fixed"', '"other"'),
        ("cls(None)", "cls(1)"),
        ("return 2", "return 3"),
        ("@staticmethod", "@classmethod"),
        ("function(function(*arguments))", "function(*arguments)"),
        ("self.transform = transform", "self.transform = self.other = transform"),
        ("class Dataset", "class Other(Base): pass\nclass Dataset"),
    ],
    ids=lambda text: text.splitlines()[0],
)
def test_a_change_of_what_the_dataset_uses_changes_its_fingerprint(old, new):
    assert old in SCRIPT
    changed = SCRIPT.replace(old, new)
    expected_equal = new.startswith("class Other")  # a class that nothing refers to
    assert (of(changed) == of(SCRIPT)) == expected_equal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def unused(value):\n    return value", "def unused(value):\n    return None"),
        ("import functools", "\n\n# moved down\nimport functools, json"),
        ("def helper(value):", "def helper(value: int) -> int:"),
        ("inner", "renamed"),
        ("args = None", "args = 5"),
    ],
)
def test_a_change_of_what_it_does_not_use_leaves_the_fingerprint(old, new):
    assert old in SCRIPT
    assert of(SCRIPT.replace(old, new)) == of(SCRIPT)


def test_a_script_that_is_run_and_the_same_file_imported_are_one():
    as_module = loaded(SCRIPT, __name__="train", __package__="")["dataset"]
    assert fingerprint(loaded(SCRIPT, __name__="__main__")["dataset"]) == fingerprint(as_module)


READER = """
class Dataset:
    def __getitem__(self, row):
        return row * args.size + len(args.kinds)
dataset = Dataset()
"""


@pytest.mark.parametrize("kind", [argparse.Namespace, types.SimpleNamespace])
def test_only_the_attributes_of_a_namespace_that_are_read_count(kind):
    def of_args(**values: Any) -> str:
        return fingerprint(loaded(READER, args=kind(**values))["dataset"])

    before = of_args(size=3, kinds=["a"], lr=0.1)
    assert of_args(size=3, kinds=["a"], lr=0.2, epochs=9) == before
    assert of_args(size=4, kinds=["a"], lr=0.1) != before
    assert of_args(size=3, kinds=["b"], lr=0.1) != before


def test_an_object_that_may_do_anything_when_it_is_asked_counts_whole():
    config = "class Config:\n    size = 3\nargs = Config()\nargs.size, args.kinds = 3, []\n"
    before = fingerprint(loaded(config + READER)["dataset"])
    assert fingerprint(loaded(config + "args.lr = 0.1\n" + READER)["dataset"]) != before


def test_attributes_of_a_function_count():
    source = "def dataset(row):\n    return dataset.size\ndataset.size = 1\n"
    assert of(source) == of(source)
    assert of(source) != of(source.replace("size = 1", "size = 2"))


def test_a_namespace_handed_on_whole_counts_whole():
    source = READER.replace("args.size", "vars(args)['size']")
    one, other = (
        fingerprint(loaded(source, args=argparse.Namespace(size=3, kinds=[], lr=lr))["dataset"])
        for lr in (0.1, 0.2)
    )
    assert one != other


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes modules, forgets the ones before and runs a script."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(source: str, modules: dict[str, str]) -> Any:
        for name, text in modules.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        for name in [name for name in sys.modules if name.split(".")[0] in TOPS]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return loaded(source)["dataset"]

    return write


TOPS = {"their_helpers", "their_deeper", "their_package"}
CALLING = """
{early}
class Dataset:
    def __getitem__(self, row):
        {late}
        return {call}(row)
dataset = Dataset()
"""
WAYS = {
    "module": ("import their_helpers", "", "their_helpers.load"),
    "name": ("from their_helpers import load", "", "load"),
    "late": ("", "import their_helpers", "their_helpers.load"),
    "late name": ("", "from their_helpers import load", "load"),
}
HELPERS = """
import their_deeper
def load(row):
    return their_deeper.read(row) + 1
def spare(row):
    return row
"""
DEEPER = "def read(row):\n    return row * 2\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_helper_in_another_module_changes_the_fingerprint(project, way):
    early, late, call = WAYS[way]
    source = CALLING.format(early=early, late=late or "pass", call=call)
    modules = {"their_helpers": HELPERS, "their_deeper": DEEPER}
    before = fingerprint(project(source, modules))
    assert fingerprint(project(source, modules)) == before
    changed = {**modules, "their_helpers": HELPERS.replace("+ 1", "+ 2")}
    assert fingerprint(project(source, changed)) != before
    deeper = {**modules, "their_deeper": DEEPER.replace("* 2", "* 3")}
    assert fingerprint(project(source, deeper)) != before


@pytest.mark.parametrize("way", ["module", "name"])
def test_a_changed_function_that_is_not_called_leaves_the_fingerprint(project, way):
    early, late, call = WAYS[way]
    source = CALLING.format(early=early, late=late or "pass", call=call)
    before = fingerprint(project(source, {"their_helpers": HELPERS, "their_deeper": DEEPER}))
    spare = HELPERS.replace("return row", "return 0")
    assert fingerprint(project(source, {"their_helpers": spare, "their_deeper": DEEPER})) == before


def test_a_late_import_counts_the_same_before_and_after_it_happened(project):
    early, late, call = WAYS["late"]
    source = CALLING.format(early=early, late=late, call=call)
    dataset = project(source, {"their_helpers": HELPERS, "their_deeper": DEEPER})
    before = fingerprint(dataset)
    assert dataset[1] == 3
    assert "their_helpers" in sys.modules
    assert fingerprint(dataset) == before


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("SIZE", 2, True),
        ("SIZE", 1.0, True),
        ("SIZE", True, True),
        ("SIZE", 1, False),
        ("NAMES", ("a", "c"), True),
        ("NAMES", ("a", "b"), False),
        ("OPTIONS", {"size": 2}, True),
        ("OPTIONS", {"size": 1, "more": 1}, True),
        ("OPTIONS", {"size": 1}, False),
        ("COUNT", 9, False),
        ("CACHE", {"a": 1}, False),
        ("COMPUTED", 9, False),
        ("TWICE", 9, False),
    ],
)
@pytest.mark.parametrize("way", ["late", "late name", "value"])
def test_a_constant_set_in_a_module_that_is_imported_late_counts(project, way, name, value, counts):
    deeper = """
SIZE = 1
NAMES: tuple = ("a", "b")
OPTIONS = {"size": 1}
COUNT = 0
CACHE = {}
COMPUTED = len(NAMES)
TWICE = 1
TWICE = 2
def read(row):
    global COUNT
    COUNT += 1
    return row * SIZE
"""
    early, late, call = WAYS.get(way, ("import their_helpers", "x = [their_helpers]", "len"))
    source = CALLING.format(early=early, late=late, call=call)
    dataset = project(source, {"their_helpers": HELPERS, "their_deeper": deeper})
    before = fingerprint(dataset)
    module = importlib.import_module("their_deeper")
    importlib.import_module("their_helpers")
    assert fingerprint(dataset) == before
    setattr(module, name, value)
    assert (fingerprint(dataset) != before) == counts


def test_relative_late_imports_are_followed(project):
    module = """
class Dataset:
    def __getitem__(self, row):
        from .sizes import SIZE
        return SIZE
"""
    source = "from their_package.data import Dataset\ndataset = Dataset()"
    modules = {"their_package/__init__": "", "their_package/data": module}
    before = fingerprint(project(source, {**modules, "their_package/sizes": "SIZE = 1\n"}))
    again = project(source, {**modules, "their_package/sizes": "SIZE = 1\n"})
    assert again[0] == 1
    assert fingerprint(again) == before
    assert fingerprint(project(source, {**modules, "their_package/sizes": "SIZE = 2\n"})) != before


def test_a_late_import_of_a_package_counts_what_the_package_imports(project):
    early, late, call = "", "from their_package import load", "load"
    source = CALLING.format(early=early, late=late, call=call)
    modules = {"their_package/__init__": "from .inner import load\n"}
    inner = "def load(row):\n    return row + 1\n"
    before = fingerprint(project(source, {**modules, "their_package/inner": inner}))
    assert fingerprint(project(source, {**modules, "their_package/inner": inner})) == before
    inner = inner.replace("+ 1", "+ 2")
    assert fingerprint(project(source, {**modules, "their_package/inner": inner})) != before


def test_a_module_kept_as_a_value_counts_by_its_files(project):
    source = "import their_helpers\ndataset = [their_helpers]"
    before = fingerprint(project(source, {"their_helpers": HELPERS, "their_deeper": DEEPER}))
    spare = HELPERS.replace("return row", "return 0")
    assert fingerprint(project(source, {"their_helpers": spare, "their_deeper": DEEPER})) != before


def test_library_code_counts_by_name_and_version(monkeypatch):
    def version_of(name: str) -> str | None:
        return f"{name.partition('.')[0]} {version}"

    program = importlib.import_module("joader.recipe.fingerprint.program")
    monkeypatch.setattr(program, "library_of", version_of)
    version = 1
    before = fingerprint([argparse.Namespace, argparse.FileType, len, importlib])
    version = 2
    assert fingerprint([argparse.Namespace, argparse.FileType, len, importlib]) != before


def test_members_of_an_enum_count_by_name_and_value():
    source = "import enum\nclass Kind(enum.Enum):\n    A = 1\n    B = 2\ndataset = Kind.A"
    swapped = source.replace("B = 2", "B = 3")
    assert len({of(source), of(swapped), of(source.replace("Kind.A", "Kind.B"))}) == 3
    assert of(source) == of(source)
    method = source.replace("    B = 2\n", "    B = 2\n    def f(self): return 1\n")
    assert len({of(source), of(method), of(method.replace("return 1", "return 2"))}) == 3


def test_bound_methods_partials_and_callable_objects_count_by_what_they_hold():
    source = """
import functools
class Add:
    def __init__(self, number):
        self.number = number
    def __call__(self, value):
        return value + self.number
    def method(self, value):
        return value
def function(value, by):
    return value * by
dataset = {}
"""
    makes = ["Add(1)", "Add(2)", "Add(1).method", "Add(1).__call__", "Add", "str.lower", "len"]
    makes += ["functools.partial(function, by=1)", "functools.partial(function, by=2)", "[].append"]
    makes += ["functools.partial(function, 1)", "lambda value: value", "lambda value: -value"]
    found = [of(source.format(make)) for make in makes]
    assert len(set(found)) == len(makes)
    assert found == [of(source.format(make)) for make in makes]


def test_functions_that_call_each_other_have_fingerprints():
    source = """
def even(n):
    return n == 0 or odd(n - 1)
def odd(n):
    return n != 0 and even(n - 1)
dataset = even
"""
    assert of(source) == of(source)
    changed = source.replace("n != 0", "n > 0")
    assert len({of(source), of(changed), of(source + "dataset = odd")}) == 3
