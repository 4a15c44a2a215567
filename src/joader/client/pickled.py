"""Code on its way to the workers: cloudpickled, or an error that names what cannot be.

A dataset that holds a lock, an open file or a connection cannot travel. Which attribute it is
would be a long search for the user, so it is searched here: by trying the parts one by one.
"""

from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

import cloudpickle

from joader.errors import BadArgument

_DEEPEST = 16


def pickled(code: Any, what: str) -> bytes:
    """Return code as bytes; `what` is its name in an error."""
    try:
        return bytes(cloudpickle.dumps(code))
    except Exception as error:  # any code of the user's classes may run here
        path, culprit = _culprit(code, "")
        kind = type(culprit)
        raise BadArgument(
            f"the {what} cannot be sent to the worker processes: {path.lstrip('.') or what} is a "
            f"{kind.__module__}.{kind.__qualname__}, which cannot be pickled ({error}); open files "
            "and connections when they are first used, or leave them out in __getstate__"
        ) from error


def _culprit(value: Any, path: str) -> tuple[str, Any]:
    """Return the innermost part that cannot be pickled, and the way to it."""
    for _ in range(_DEEPEST):
        found = next(((way, part) for way, part in _parts(value) if not _travels(part)), None)
        if found is None:
            break
        path, value = path + found[0], found[1]
    return path, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{number}]", part) for number, part in enumerate(value))
    elif isinstance(value, partial):
        yield ".func", value.func
        yield from ((f".args[{number}]", part) for number, part in enumerate(value.args))
        yield from ((f".keywords[{name!r}]", part) for name, part in value.keywords.items())
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f".{name}", cell.cell_contents) for name, cell in cells)
        known = (name for name in value.__code__.co_names if name in value.__globals__)
        yield from ((f" (its global {name})", value.__globals__[name]) for name in known)
    elif isinstance(value, type):
        yield from ((f".{name}", part) for name, part in vars(value).items())
    bound = getattr(value, "__self__", None)
    if bound is not None and not isinstance(bound, type):
        yield ".__self__", bound
    if not isinstance(value, type):
        yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())
        slots = (name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ()))
        yield from ((f".{name}", getattr(value, name)) for name in slots if hasattr(value, name))
        yield ".__class__", type(value)


def _travels(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:  # as above
        return False
    return True
