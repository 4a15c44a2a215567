"""A module is a library's, with its version, or the user's."""

import os
import platform
import sys
import types

import numpy as np
import pytest

from joader.recipe.fingerprint.origin import file_of, is_compiled, library_of

PYTHON = f"{platform.python_implementation()} {platform.python_version()}"


@pytest.fixture(autouse=True)
def _ask_anew():
    library_of.cache_clear()


@pytest.mark.parametrize("name", ["builtins", "sys", "os", "collections.abc", "json.tool"])
def test_the_standard_library_is_python_with_its_version(name):
    assert library_of(name) == PYTHON


def test_an_installed_package_is_known_by_its_version():
    assert library_of("numpy") == library_of("numpy.random.mtrand") == f"numpy {np.__version__}"


def test_a_package_is_found_by_the_distribution_that_brings_it():
    pil = pytest.importorskip("PIL")
    assert library_of("PIL.Image") == f"pillow {pil.__version__}"


def test_the_answer_does_not_depend_on_whether_a_module_is_imported(monkeypatch):
    before = file_of("json.tool"), file_of("this_is_no_module"), library_of("json.tool")
    monkeypatch.delitem(sys.modules, "json.tool", raising=False)
    library_of.cache_clear()
    assert (file_of("json.tool"), file_of("this_is_no_module"), library_of("json.tool")) == before
    assert "json.tool" not in sys.modules
    assert before[1] is None


def test_a_script_is_the_users_wherever_it_lies(monkeypatch):
    script = types.ModuleType("__main__")
    script.__file__ = os.__file__  # as under `python -m cProfile train.py`
    monkeypatch.setitem(sys.modules, "__main__", script)
    assert library_of("__main__") is None


def test_what_is_not_installed_is_the_users():
    assert library_of(__name__) is None
    assert library_of("this_is_no_module") is None
    assert library_of("this_is_no.module") is None


def test_a_file_that_no_distribution_claims_is_read_like_the_users(monkeypatch):
    stray = types.ModuleType("a_stray_module")
    stray.__file__ = "/usr/lib/python3/site-packages/a_stray_module.py"
    monkeypatch.setitem(sys.modules, "a_stray_module", stray)
    assert library_of("a_stray_module") is None


def test_a_module_made_by_code_belongs_to_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.made_up", types.ModuleType("numpy.made_up"))
    assert library_of("numpy.made_up") == library_of("numpy")


def test_extensions_are_told_from_source():
    assert is_compiled("numpy.random.mtrand")
    assert not is_compiled("numpy")
    assert not is_compiled("sys")
