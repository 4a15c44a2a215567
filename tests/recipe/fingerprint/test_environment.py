"""Environment variables count where code reads them: one by name, or all of them."""

import functools
import importlib
import os
import sys
import types
from typing import Any

import pytest

from joader.recipe.fingerprint import difference, explain, fingerprint, look


def loaded(source: str, **names: Any) -> Any:
    namespace: dict[str, Any] = {"__name__": "a_script", **names}
    exec(compile(source, "a_script.py", "exec"), namespace)
    return namespace["dataset"]


HEAD = """
import os, os.path, pathlib
import os as system
from os import environ, getenv
from os import environ as env, getenv as get
from os.path import expandvars, expanduser
from pathlib import Path
ask = os.environ.get
"""


def reading(expression: str) -> Any:
    """Return a dataset that reads the environment in this way."""
    lines = "\n        ".join(expression.split("; "))
    return loaded(f"{HEAD}class Dataset:\n    def __getitem__(self, row):\n        {lines}\n"
                  "dataset = Dataset()\n")  # fmt: skip


def sees(dataset: Any, name: str) -> bool:
    """Tell whether setting, changing and removing a variable each give other names."""
    found = []
    for value in (None, "1", "2", ""):
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(name, raising=False)
            if value is not None:
                patch.setenv(name, value)
            found.append(fingerprint(dataset))
            assert fingerprint(dataset) == found[-1]
    assert len(set(found)) in (1, len(found))
    return len(set(found)) > 1


BY_NAME = [
    'os.environ["X"]',
    'os.environ.get("X")',
    'os.environ.get("X", "1")',
    'os.environ.get("X", row + 1)',
    'os.environ.get("X", os.path.join(row, "a"))',
    'os.environ.get("X", [one for one in row])',
    'os.environ.get("X", default=row)',
    'os.environ.pop("X", None)',
    'os.environ.setdefault("X", "1")',
    'os.getenv("X")',
    'os.getenv("X", str(row))',
    'int(os.getenv("X") or 3)',
    '"X" in os.environ',
    'row if "X" not in environ else 1',
    'environ["X"]',
    'env["X"]',
    'getenv("X")',
    'get("X", 1)',
    'ask("X")',
    'system.environ["X"]',
    'import os as o; o.environ["X"]',
    'import os; os.getenv("X")',
    'from os import environ as e, getenv as g; e["X"]',
    'from os import environ as e, getenv as g; g("X")',
    'import os.path; os.environ["X"]',
    '[os.environ["X"] for _ in range(3)]',
    '(lambda: os.environ["X"])()',
    'import os as o; (lambda: o.environ["X"])()',
    'import os as o; {one: [o.getenv("X") for two in one] for one in row}',
]


@pytest.mark.parametrize("expression", BY_NAME)
def test_a_variable_that_is_read_by_name_counts_and_no_other(expression):
    dataset = reading(expression)
    assert sees(dataset, "X")
    assert not sees(dataset, "OTHER")


ALL = [
    "os.environ[row]",
    "os.environ.get(row)",
    'os.environ["X" + row]',
    'os.environ.get("X" + row)',
    'os.environ.get("X".lower())',
    'os.environ.get(f"X{row}")',
    'os.environ.get("X" % row, 1)',
    'os.environ.get("X" if row else "Y")',
    'os.getenv(default="X", key="Y")',
    'os.getenv(*("X",))',
    "os.environ.items()",
    "dict(os.environ)",
    "{**os.environ}",
    "[name for name in os.environ]",
    "e = os.environ; e['X']",
    "row in os.environ",
    "os.environb[b'X']",
    "os.path.expandvars(row)",
    "expandvars(row)",
    "import os.path as p; p.expandvars(row)",
    "from os.path import expandvars as x; x(row)",
    "os.environ == row",
    "ask(row)",
    "use(os.getenv)",
]


@pytest.mark.parametrize("expression", ALL)
def test_the_whole_environment_counts_where_the_name_is_not_known(expression):
    dataset = reading(expression)
    assert sees(dataset, "X")
    assert sees(dataset, "OTHER")


HOME = [
    "os.path.expanduser(row)",
    "expanduser(row)",
    "from os.path import expanduser as x; x(row)",
    "Path(row).expanduser()",
    "row.expanduser()",
    "Path.home()",
    "pathlib.Path.home()",
    "from pathlib import Path as P; P.home()",
]


@pytest.mark.parametrize("expression", HOME)
def test_home_counts_where_paths_are_expanded(expression):
    dataset = reading(expression)
    assert sees(dataset, "HOME")
    assert not sees(dataset, "OTHER")


@pytest.mark.parametrize(
    "expression",
    [
        'os.environ["X"] = "1"',
        'del os.environ["X"]',
        'os.environ.update(X="1")',
        "os.getpid()",
        "os.path.join(row)",
        "row.environ['X']",
    ],
)
def test_what_reads_no_variable_depends_on_none(expression):
    assert not sees(reading(expression), "X")


def test_the_environment_kept_as_a_value_counts_whole():
    for value in (os.environ, os.getenv, os.environ.get, functools.partial(os.getenv, "X")):
        assert sees(types.SimpleNamespace(env=value), "OTHER")


def test_the_environment_in_a_closure_counts_by_what_it_is_asked_for():
    def closed(env: Any, system: Any, ask: Any) -> Any:
        return lambda: (env["X"], system.environ["Y"], ask("Z"))

    function = closed(os.environ, os, os.getenv)
    assert [sees(function, name) for name in ("X", "Y", "Z", "OTHER")] == [True] * 3 + [False]


def test_the_way_it_is_read_counts_too():
    one, other = (loaded(f"from os import {name} as f\ndataset = lambda: f('HOME')")
                  for name in ("getenv", "path"))  # fmt: skip
    assert fingerprint(one) != fingerprint(other)
    expand = loaded("from os.path import expanduser as f\ndataset = lambda: f('HOME')")
    assert fingerprint(one) != fingerprint(expand)


def test_a_variable_read_through_modules_counts(monkeypatch):
    helpers = types.ModuleType("their_env_helpers")
    exec("import os\ndef root():\n    return os.environ['X']\n", vars(helpers))
    monkeypatch.setitem(sys.modules, "their_env_helpers", helpers)
    for source in ("dataset = lambda: helpers.root()", "dataset = lambda: helpers.os.environ['X']"):
        dataset = loaded(source, helpers=helpers)
        assert sees(dataset, "X")
        assert not sees(dataset, "OTHER")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import os\nROOT = os.environ['X']\n", ["X"]),
        ("from os import getenv\ndef load(row):\n    return getenv('X')\n", ["X"]),
        ("import os\ndef load(row):\n    return os.environ[row]\n", ["X", "OTHER"]),
        ("from their_env_deeper import *\n", ["X"]),
        ("import os\ndef load(row):\n    return os.sep\n", []),
    ],
)
def test_a_late_import_counts_what_its_files_read(tmp_path, monkeypatch, text, names):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_env_late.py").write_text(text)
    (tmp_path / "their_env_deeper.py").write_text("import os\nROOT = os.getenv('X', 1)\n")
    importlib.invalidate_caches()
    dataset = loaded("def dataset():\n    import their_env_late\n    return their_env_late\n")
    assert [name for name in ("X", "OTHER") if sees(dataset, name)] == names


def test_a_difference_is_named_and_its_value_shortened(monkeypatch):
    dataset = reading('os.environ["X"]')
    monkeypatch.setenv("X", "a" * 100)
    before = look(dataset).outline
    monkeypatch.delenv("X")
    after = look(dataset).outline
    assert explain(dataset, dataset) is None
    words = " ".join(line.words for line in before)
    assert "a" * 60 in words
    assert "a" * 61 not in words
    path = "dataset.__class__.__getitem__(environment X)"
    assert difference(before, after) == f"{path} differs: {'a' * 60!r}… and not set"
