"""Packages whose names are loaded when they are asked for."""

import json
import subprocess
import sys
from importlib import import_module
from types import FunctionType

import pytest

from joader.lazy import loaded_class

PACKAGES = ["joader.cache", "joader.catalog", "joader.images", "joader.sampling", "joader.storage"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_exists_and_is_listed(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_what_it_loads_lazily(package: str) -> None:
    module = import_module(package)
    assert sorted(module._homes) == sorted(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_alone_loads_none_of_its_modules(package: str) -> None:
    script = (
        f"import json, sys, {package}\n"
        f"print(json.dumps([name for name in sys.modules if name.startswith('{package}.')]))"
    )
    printed = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert json.loads(printed) == []


def test_an_unknown_name_is_an_attribute_error_that_says_where() -> None:
    with pytest.raises(AttributeError, match=r"module 'joader.images' has no attribute 'Blur'"):
        import_module("joader.images").Blur  # noqa: B018


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    import_module("joader.images.decode")
    from joader.images import decode

    assert isinstance(decode, FunctionType)


def test_nothing_is_an_instance_of_a_class_that_is_not_loaded() -> None:
    assert not isinstance(object(), loaded_class("joader.no_such_module", "Any"))
    assert isinstance({}, loaded_class("builtins", "dict"))
