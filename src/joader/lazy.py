"""Packages that load a module when one of its names is first asked for, and classes not loaded yet.

A package that imports everything it exports makes whoever needs one name pay for all of them. So
`export_lazily` leaves a package's names where they are until they are read; `__all__`, and imports
under TYPE_CHECKING, say what they are.

Code that has to tell apart values of classes that few programs use asks with `loaded_class`: as
long as the module of a class is not loaded, no value can be an instance of it.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def export_lazily(package: str, names: Mapping[str, Iterable[str]]) -> None:
    """Let a package have these names, by the module in it that each is loaded from."""
    module = sys.modules[package]
    module.__dict__["_homes"] = {name: home for home, listed in names.items() for name in listed}
    module.__class__ = _LazyPackage


class _LazyPackage(ModuleType):
    """A package whose names are read from its modules."""

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{self.__name__}.{self._homes[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Once a module is imported, Python makes it an attribute of its package; if the package
        # exports a function of the same name (`images.decode`), that is what its users ask for.
        if isinstance(value, ModuleType) and name in self._homes:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._homes})


class _Nothing:
    """Stands for a class that is not loaded: nothing is an instance of it."""


def loaded_class(module: str, name: str) -> type[Any]:
    """Return a class if its module is loaded, else one of which nothing is an instance."""
    found: type[Any] = getattr(sys.modules.get(module), name, _Nothing)
    return found
