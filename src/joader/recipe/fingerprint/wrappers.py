"""Wrappers of other objects: each counts as what it wraps, not as the machinery around it.

The machinery changes while it is used (caches, counters, clocks) or cannot be inspected (locks),
and none of it changes a sample: options of `torch.compile`, the position of a progress bar.
"""

import sys
from collections.abc import Callable
from contextvars import Context, ContextVar
from functools import cached_property, partial
from types import FunctionType
from typing import Any

from joader.recipe.fingerprint.graph import Part, label
from joader.recipe.fingerprint.origin import library_of

_DISPATCH = "singledispatch.<locals>.wrapper"
_DISPATCH_OWN = frozenset({"registry", "dispatch", "register", "_clear_cache", "__wrapped__"})
_COMPILED = "_torchdynamo_orig_callable"


def property_part(value: property) -> Part:
    """Treat a property as its functions."""
    names = ("fget", "fset", "fdel")
    return Part(label("property"), [(f".{name}", getattr(value, name)) for name in names])


def wrapper_part(wrapper: Any) -> Part:
    """Treat a staticmethod, classmethod, lru_cache or cached_property as what it wraps."""
    inner = wrapper.func if isinstance(wrapper, cached_property) else wrapper.__wrapped__
    edges = [(".__wrapped__", inner)]
    if hasattr(wrapper, "cache_parameters"):
        edges.append((".cache_parameters()", wrapper.cache_parameters()))
    return Part(label("wrapper", type(wrapper).__name__), edges)


def partial_part(value: partial[Any]) -> Part:
    """Treat a partial as its function and arguments."""
    edges = [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
    return Part(label("partial"), [*edges, (".__dict__", vars(value))])


def variable_part(variable: ContextVar[Any]) -> Part:
    """Treat a context variable as its current value."""
    try:
        value = variable.get()
    except LookupError:
        value = Part(label("not set"), words="not set")
    words = f"variable {variable.name}"
    return Part(label("context variable", variable.name), [(".get()", value)], words)


def context_part(context: Context) -> Part:
    """Treat a context as its variables and their values."""
    items = [
        ("", Part(label("variable", variable.name), [("", value)]))
        for variable, value in context.items()
    ]
    return Part(label("context", len(items)), items, "a context", unordered=True)


def wrapping_function_part(function: FunctionType) -> Part | None:
    """Treat a library's wrapper function as the functions it wraps; None for all others."""
    attributes = vars(function)
    if _COMPILED in attributes:
        return Part(label("compiled"), [(".__wrapped__", attributes[_COMPILED])])
    is_functools = function.__globals__.get("__name__") == "functools"
    if not (is_functools and function.__code__.co_qualname == _DISPATCH):
        return None
    rest = {name: value for name, value in attributes.items() if name not in _DISPATCH_OWN}
    edges = [(".registry", attributes["registry"]), (".__dict__", rest)]
    return Part(label("singledispatch"), edges, f"function {function.__qualname__}")


def _bar_part(bar: Any) -> Part:
    """Treat a progress bar as what it iterates over, without its clock and counts."""
    return Part(label("progress bar"), [(".iterable", vars(bar).get("iterable"))], "a progress bar")


def _compiled_module_part(module: Any) -> Part:
    return Part(label("compiled"), [(".__wrapped__", vars(module)["_modules"]["_orig_mod"])])


def _lock_part(lock: Any) -> Part:
    return Part(label("without state", type(lock).__name__), words=f"a {type(lock).__name__}")


# Classes of libraries that may not be loaded.
_CLASSES: list[tuple[str, str, Callable[[Any], Part]]] = [
    ("tqdm.std", "tqdm", _bar_part),
    ("torch._dynamo.eval_frame", "OptimizedModule", _compiled_module_part),
    ("multiprocessing.synchronize", "SemLock", _lock_part),
]


def wrapping_object_part(thing: Any) -> Part | None:
    """Treat a known library's wrapper object as what it wraps; None for all others."""
    kind = type(thing)
    if library_of(str(kind.__module__)) is None:  # a user's subclass may do anything
        return None
    for module, name, rule in _CLASSES:
        cls = getattr(sys.modules.get(module), name, None)
        if cls is not None and issubclass(kind, cls):
            return rule(thing)
    return None
