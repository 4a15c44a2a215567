"""Environment variables that code reads: each by its name, or all of them if names are computed.

`os.environ["X"]`, `os.environ.get("X")`, `os.getenv("X")` and `"X" in os.environ` read one;
`expanduser` and `Path.home` read HOME; any other use of the environment reads all of it. Setting a
variable reads nothing. Not here: what libraries read by themselves.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import PurePath
from types import FunctionType, MethodType, ModuleType
from typing import Any

from joader.recipe.fingerprint.graph import Part, label
from joader.recipe.fingerprint.reads import Reads, Use

ALL = "(environment)"
_ASKS = frozenset({"get", "setdefault", "pop", "__getitem__", "__contains__"})
_SETS = frozenset({"update", "clear", "__setitem__", "__delitem__"})
_READERS: dict[str, Any] = {
    "os.environ": os.environ,
    "os.environb": os.environb,
    "os.getenv": os.getenv,
    "os.getenvb": os.getenvb,
    "os.path.expanduser": os.path.expanduser,
    "os.path.expandvars": os.path.expandvars,
}

Edges = dict[str, Any]


def variables(names: Iterable[str]) -> Edges:
    """Return edges to environment variables; to all, if ALL is among the names."""
    chosen = set(names)
    if ALL in chosen:
        return {ALL: dict(os.environ)}
    unset = Part(label("not set"), words="not set")
    return {f"(environment {name})": os.environ.get(name, unset) for name in sorted(chosen)}


def names_read(found: Reads, root_of: Callable[[Use], Any]) -> set[str]:
    """Return the names of the variables that code reads; ALL if they are not known."""
    names: set[str] = set()
    if "expandvars" in found.words:
        names.add(ALL)
    if "expanduser" in found.words:
        names.add("HOME")
    for use in found.uses:
        names |= _names_of(use, root_of(use))
    return names


def reader_name(thing: Any) -> str | None:
    """Return the name of the environment, or of a function that reads it; else None."""
    kind = type(thing)
    if kind is MethodType and thing.__self__ is os.environ:
        return f"os.environ.{thing.__name__}"
    if kind is not FunctionType and kind is not type(os.environ):
        return None
    return next((name for name, reader in _READERS.items() if reader is thing), None)


def _names_of(use: Use, value: Any) -> set[str]:
    attributes = list(use.names[1:])
    while True:
        if type(value) is MethodType and value.__self__ is os.environ:
            attributes.insert(0, value.__name__)
            value = os.environ
        reader = reader_name(value)
        if reader == "os.environ":
            return _of_environment(use, attributes)
        if reader == "os.getenv":
            return {use.key if use.how == "call" and not attributes else ALL}
        if reader is not None:
            return {"HOME" if reader == "os.path.expanduser" else ALL}
        if not attributes:
            return set()
        name = attributes.pop(0)
        if issubclass(type(value), type) and issubclass(value, PurePath):
            return {"HOME"} if name == "home" else set()
        if not issubclass(type(value), ModuleType) or name not in vars(value):
            return set()
        value = vars(value)[name]


def _of_environment(use: Use, attributes: list[str]) -> set[str]:
    if not attributes:
        if use.how == "write":
            return set()
        return {use.key if use.how in {"item", "in"} else ALL}
    if attributes[0] in _SETS:
        return set()
    asks = len(attributes) == 1 and attributes[0] in _ASKS and use.how == "call"
    return {use.key if asks else ALL}
