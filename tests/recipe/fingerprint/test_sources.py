"""The files of user modules, and of all that they import, count as one."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from joader.recipe.fingerprint.sources import (
    changed_constants,
    read_anew,
    source_digest,
    source_variables,
)

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write modules that can be imported, and are not afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def writes(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        read_anew()
        importlib.invalidate_caches()

    yield writes
    for name in set(sys.modules) - before:
        del sys.modules[name]
    read_anew()


def test_a_change_anywhere_below_changes_the_digest_and_elsewhere_does_not(write: Write) -> None:
    write("top_one.py", "def load():\n    from parts_one import inner\n    import json\n")
    write("parts_one/__init__.py", "from . import leaf\n")
    write("parts_one/inner.py", "A = 1\n")
    write("parts_one/leaf.py", "B = 1\n")
    write("beside_one.py", "C = 1\n")
    digests = [source_digest("top_one")]
    for name in ("parts_one/leaf.py", "parts_one/inner.py", "parts_one/__init__.py", "top_one.py"):
        path = Path(sys.path[0]) / name
        write(name, path.read_text() + "# another\n")
        digests.append(source_digest("top_one"))
    assert len(set(digests)) == 5
    write("beside_one.py", "C = 2\n")
    assert source_digest("top_one") == digests[-1]


def test_modules_that_import_each_other_are_read_once(write: Write) -> None:
    write("ring_a.py", "import ring_b\n")
    write("ring_b.py", "import ring_a\n")
    assert source_digest("ring_a") == source_digest("ring_b")


def test_libraries_and_what_is_not_there_do_not_count(write: Write) -> None:
    write("lonely.py", "X = 1\n")
    alone = source_digest("lonely")
    assert source_digest("lonely", "json", "no_such_module_anywhere") == alone


def test_variables_that_any_of_the_files_reads_count(write: Write) -> None:
    write("reads_env.py", "import os, env_below\nA = os.environ['TOP_VARIABLE']\n")
    write("env_below.py", "import os\ndef f():\n    return os.getenv('BELOW')\n")
    assert source_variables("reads_env") >= {"TOP_VARIABLE", "BELOW"}


def test_constants_that_were_set_since_the_import_are_known(write: Write) -> None:
    write("settings_one.py", "SIZE = 224\nNAMES = ['a']\nCACHE = {}\nBUILT = list(range(3))\n")
    assert changed_constants("settings_one") == {}  # it was not imported
    module = importlib.import_module("settings_one")
    assert changed_constants("settings_one") == {}
    module.SIZE = 256
    module.NAMES.append("b")
    module.CACHE["key"] = 1
    module.BUILT = []
    assert changed_constants("settings_one") == {
        "settings_one.SIZE": 256,
        "settings_one.NAMES": ["a", "b"],
    }
