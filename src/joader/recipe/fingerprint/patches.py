"""Names of libraries that users have replaced with something of their own.

A library counts by its version, which says nothing once `PIL.Image.open = my_open` or
`Class.method = my_method` has run. So what user code reads from a library's module is compared with
its name, and the methods of a library's class are searched for the user's functions.
Not seen: a replacement that only library code reads.
"""

import functools
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from joader.recipe.fingerprint.bulk import SCALARS
from joader.recipe.fingerprint.graph import Part, label
from joader.recipe.fingerprint.origin import library_of
from joader.recipe.fingerprint.reads import Use

_WRAPPERS = (functools.partial, functools.partialmethod, functools._lru_cache_wrapper)
# Types of compiled functions lie in a module of Cython's, even for a user's function.
_CYTHON = "_cython_"
# Types that know where they are from. Others are not asked, which might load a lazy object.
_NAMED = (FunctionType, BuiltinFunctionType, type, np.ufunc, type(np.sum))


def unexpected(use: Use, root: Any) -> tuple[str, Any] | None:
    """Return path and value of what is read from a library's module, if its name is not enough.

    The name of a number or string is not enough: it may have been set to anything. But in modules
    that are loaded late, or whose names appear only when they are first asked for, the library's
    own values are left out: whether they were asked for must not count.
    """
    path, value = use.names[0], root
    is_late, is_passed = use.origin == "import", False
    for name in use.names[1:]:
        if not issubclass(type(value), ModuleType) or name not in vars(value):
            break
        library = library_of(value.__name__)
        is_late |= type(value) is not ModuleType or "__getattr__" in vars(value)
        path, value = f"{path}.{name}", vars(value)[name]
        if library is not None and not issubclass(type(value), ModuleType):
            if is_users(value) or (issubclass(type(value), type) and users_methods(value)):
                return path, value
            other = None if is_late else _other(value, name, library)
            return None if other is None else (path, other)
        is_passed |= library is not None
    if is_passed and issubclass(type(value), ModuleType) and library_of(value.__name__) is None:
        return path, value  # a whole module of the user in place of a library's
    return None


def _other(value: Any, name: str, library: str) -> Any:
    """Return what a library's name stands for, if it is a plain value or has another name."""
    if type(value) in SCALARS:
        return value
    if not issubclass(type(value), _NAMED):
        return None
    home, known_as = str(value.__module__ or ""), str(value.__name__)
    if known_as == name and (not home or library_of(home) == library):
        return None
    # Often just an alias, like numpy.abs; including its real name does no harm.
    return Part(label("known as", library_of(home), home, known_as), words=f"{home}.{known_as}")


def is_users(value: Any) -> bool:
    """Return whether a value is a user's function, class or object, possibly wrapped."""
    function = _function(value)
    if function is not None:
        return _is_users_function(function)
    cls = value if issubclass(type(value), type) else type(value)
    module = str(cls.__module__)
    if module.startswith(_CYTHON):
        module = str(getattr(value, "__module__", ""))
    return module in sys.modules and library_of(module) is None


def users_methods(cls: type) -> list[tuple[str, Any]]:
    """Return the functions that users have added to a library's class, or to its bases."""
    found = {}
    for base in reversed(cls.__mro__):
        if library_of(str(base.__module__)) is not None:
            for name, value in vars(base).items():
                function = _function(value)
                if function is not None and _is_users_function(function):
                    found[f".{name}"] = value
    return sorted(found.items())


def _function(value: Any) -> FunctionType | None:
    """Return the function inside wrappers, if there is one."""
    for _ in range(16):  # a wrapper may hold itself
        kind = type(value)
        if kind is FunctionType:
            inner = vars(value).get("__wrapped__")
            if inner is None or _is_users_function(value):
                return value  # type: ignore[no-any-return]
            value = inner  # a library's decorator around it
            continue
        if kind in (staticmethod, classmethod, MethodType):
            value = value.__func__
        elif kind is property:
            value = value.fget or value.fset
        elif issubclass(kind, _WRAPPERS):
            value = vars(value).get("__wrapped__") or getattr(value, "func", None)
        else:
            return None
    return None


def _is_users_function(function: FunctionType) -> bool:
    home = str(function.__globals__.get("__name__", ""))
    # Libraries compile functions from text (named tuples, attrs) outside of any module.
    is_made = home not in sys.modules and function.__code__.co_filename.startswith("<")
    return not is_made and library_of(home) is None
