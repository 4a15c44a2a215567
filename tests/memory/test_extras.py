"""Optional packages: seen if they are loaded, and named if they are missing."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from joader.errors import MissingExtra
from joader.memory.extras import loaded, needed


def test_only_a_module_that_is_completely_imported_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded("sys") is sys
    assert loaded("no_such_module") is None
    half = ModuleType("half")
    half.__spec__ = SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "half", half)
    assert loaded("half") is None


def test_a_missing_one_says_what_to_install() -> None:
    assert needed("json", "torch").__name__ == "json"
    with pytest.raises(MissingExtra, match=r"pip install '\.\[images\]'"):
        needed("no_such_module", "images")
