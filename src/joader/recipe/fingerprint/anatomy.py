"""One object taken apart: what it is by itself, and the objects it leads to.

Exact types first, then families, then what an object reports as its state when it is pickled
(`__reduce_ex__`, whose *result* is walked; nothing is ever turned into pickle bytes). Types are
tested with `issubclass(type(x), ...)`: `isinstance` would load lazy proxies.
"""

import contextvars
import copyreg
import functools
import io
import logging
import operator
import os
import sys
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import Field
from enum import Enum
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np

from joader.recipe.fingerprint import environment, program, wrappers
from joader.recipe.fingerprint.bulk import MIN_SIZE, SCALARS, bulk, sorted_keys
from joader.recipe.fingerprint.content import array_part, file_part, tensor_part
from joader.recipe.fingerprint.graph import Opaque, Part, Scalar, label
from joader.recipe.fingerprint.memory import Memory
from joader.recipe.fingerprint.program import LibraryNames
from joader.storage import Storage

_WORDS_LENGTH = 60


def take_apart(thing: Any, names: LibraryNames, memory: Memory | None = None) -> Part:
    """Return what an object is by itself and what it leads to; raise Opaque if that is unknown."""
    kind = type(thing)
    large_rule = _LARGE.get(kind)
    if large_rule is not None:
        return large_rule(thing, memory)
    rule = _EXACT.get(kind)
    if rule is not None:
        return rule(thing)
    for family, family_rule in _FAMILIES:
        if issubclass(kind, family):
            return family_rule(thing)
    return (
        _torch_part(thing, memory)
        or wrappers.wrapping_object_part(thing)
        or _instance(thing, names)
    )


def _scalar(value: Scalar) -> Part:
    return Part(label("scalar", value), words=_shown(value))


def _shown(value: Any) -> str:
    """Show a plain value, or its beginning."""
    if isinstance(value, str | bytes) and len(value) > _WORDS_LENGTH:
        return f"{value[:_WORDS_LENGTH]!r}…"
    if isinstance(value, int) and value.bit_length() > _WORDS_LENGTH * 3:
        return f"a number of {value.bit_length()} bits"  # Python refuses to write very long ones
    return repr(value)


def _sequence(values: list[Any] | tuple[Any, ...], memory: Memory | None) -> Part:
    kind = type(values).__name__
    words = f"{kind} of {len(values)}"
    if len(values) >= MIN_SIZE:
        found = memory.recall("elements", values) if memory is not None else None
        if found is None:
            elements = list(values)
            found = bulk(elements)
            if memory is not None and found.frozen:
                memory.keep("elements", elements, found)
        edges = [("[…]", one) for one in found.left]
        return Part(label("many", kind, len(values), found.digest), edges, words)
    edges = [(f"[{number}]", value) for number, value in enumerate(values)]
    return Part(label(kind, len(values)), edges, words)


def _mapping(values: Mapping[Any, Any], memory: Memory | None) -> Part:
    """Take a dict apart; the order in which it was filled does not count."""
    words = f"dict of {len(values)}"
    if len(values) >= MIN_SIZE:
        return _large_mapping(values, memory, words)
    keys = sorted_keys(list(values))
    if keys is None:
        return _unsorted(values, words)
    edges = [(f"[{_shown(key)}]", values[key]) for key in keys]
    return Part(label("dict", bulk(keys).digest), edges, words)


def _large_mapping(values: Mapping[Any, Any], memory: Memory | None, words: str) -> Part:
    """Treat a large dict as its sorted keys, and the list of its values in the same order."""
    known = memory.recall("keys and values", _Flat(values)) if memory is not None else None
    if known is None:
        flat = [*values, *values.values()]
        keys = sorted_keys(flat[: len(values)])
        if keys is None:
            return _unsorted(values, words)
        known = bulk(keys).digest, [values[key] for key in keys]
        if memory is not None:
            memory.keep("keys and values", flat, known)
    digest, in_order = known
    return Part(label("dict", digest), [(".values()", in_order)], words)


def _unsorted(values: Mapping[Any, Any], words: str) -> Part:
    items = [("", Part(label("item"), [("", key), ("", one)])) for key, one in values.items()]
    return Part(label("dict", len(items)), items, words, unordered=True)


class _Flat(Collection[Any]):
    """The keys of a dict and then its values."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return 2 * len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return chain(self._values, self._values.values())

    def __contains__(self, thing: object) -> bool:
        return any(thing is one for one in self)


def _set(values: Set[Any], memory: Memory | None) -> Part:
    words = f"{type(values).__name__} of {len(values)}"
    # A set that has not changed since is iterated in the same order.
    digest = memory.recall("members", values) if memory is not None else None
    if digest is None:
        members = list(values)
        keys = sorted_keys(members)
        if keys is None:
            edges = [("", value) for value in members]
            return Part(label("set", type(values).__name__), edges, words, unordered=True)
        digest = bulk(keys).digest
        if memory is not None:
            memory.keep("members", members, digest)
    return Part(label("set", type(values).__name__, digest), words=words)


def _path(path: PurePath) -> Part:
    return Part(label("path", str(path)), [(".__class__", type(path))], repr(str(path)))


def _member(member: Enum) -> Part:
    edges = [(".value", member._value_), (".__class__", type(member))]
    return Part(label("member", member._name_), edges, str(member._name_))


def _number(value: np.generic) -> Part:
    part = array_part(np.asarray(value), None)
    return Part(label("number", part.label), part.edges, f"{value.dtype} {_shown(value.item())}")


def _without_state(thing: Any) -> Part:
    return Part(label("without state", type(thing).__name__), words=f"a {type(thing).__name__}")


def _environment(_: Any) -> Part:
    """Treat the environment kept as a value as everything in it."""
    edges = list(environment.variables([environment.ALL]).items())
    return Part(label("environment"), edges, "the environment")


def _storage(storage: Storage) -> Part:
    """Treat a storage as what it reports of its content, not as the paths and indexes it holds."""
    edges = [
        (".identity()", storage.identity()),
        (".sample_columns", storage.sample_columns),
        (".__class__", type(storage)),
    ]
    return Part(label("storage"), edges, f"a {type(storage).__name__} of {len(storage)} rows")


def _torch_part(thing: Any, memory: Memory | None) -> Part | None:
    torch: Any = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None or not issubclass(type(thing), tensor):
        return None
    part = tensor_part(thing, torch, memory)
    if part is not None and type(thing) is not tensor:
        part.edges += [(".__dict__", vars(thing)), (".__class__", type(thing))]
    return part


def _instance(thing: Any, names: LibraryNames) -> Part:
    """Take any other object apart as pickle would: class, arguments, attributes, items."""
    name = names.of(thing)
    if name is not None:
        return program.named_part(*name)
    kind = type(thing)
    reduced = _reduced(thing)
    if isinstance(reduced, str):
        return _global(thing, reduced)
    answer: list[Any] = [*reduced, *[None] * (5 - len(reduced))]
    make, args, state, items, pairs, *setter = answer
    edges = _attributes(kind, state)
    if items is not None:
        edges.append(("[:]", list(items)))
    if pairs is not None:
        edges.append(("[:]", list(pairs) if issubclass(kind, OrderedDict) else dict(pairs)))
    if make is _NEW and type(args) is tuple and args:
        edges += [(".__new__()", args[1:])] if len(args) > 1 else []
        edges.append((".__class__", args[0]))
    else:
        edges += [(".__reduce__()[0]", make), (".__reduce__()[1]", args)]
    edges += [(".__reduce__()[5]", one) for one in setter]
    words = f"a {kind.__module__}.{kind.__qualname__}"
    return Part(label("instance", tuple(name for name, _ in edges)), edges, words)


def _global(thing: Any, name: str) -> Part:
    """Treat an object that is pickled by name as that name, if it exists.

    NumPy also returns a name for a wrapped user function, "f (vectorized)", which does not exist.
    """
    home = str(getattr(thing, "__module__", None))
    try:
        operator.attrgetter(name)(sys.modules.get(home))
    except AttributeError as error:
        if type(thing).__module__ != "typing":  # a type variable counts by its name
            raise Opaque(f"it is pickled as {home}.{name}, which does not exist") from error
    return program.named_part(home, name)


def _reduced(thing: Any) -> Any:
    registered: Any = copyreg.dispatch_table.get(type(thing))
    try:
        return registered(thing) if registered is not None else thing.__reduce_ex__(4)
    except Exception as error:  # any code of the object's class may run here
        raise Opaque(str(error)) from error


def _attributes(kind: type, state: Any) -> list[tuple[str, Any]]:
    """Return an object's state by attribute, without the values of `cached_property`."""
    if state is None:
        return []
    # Python's own __getstate__ returns a dict, or a pair of dicts if there are slots.
    halves = state if type(state) is tuple and len(state) == 2 else (state,)
    if not all(half is None or _is_attributes(half) for half in halves):
        return [(".__getstate__()", state)]
    return [
        (f".{name}", value)
        for half in halves
        for name, value in sorted((half or {}).items())
        if not any(isinstance(vars(c).get(name), functools.cached_property) for c in kind.__mro__)
    ]


def _is_attributes(state: Any) -> bool:
    return type(state) is dict and all(type(name) is str for name in state)


_NEW: Any = copyreg.__newobj__  # type: ignore[attr-defined]

# Types that may be large: these can reuse what was found at the last look.
_LARGE: dict[type, Callable[[Any, Memory | None], Part]] = {
    **dict.fromkeys([list, tuple], _sequence),
    **dict.fromkeys([dict, types.MappingProxyType], _mapping),
    **dict.fromkeys([set, frozenset], _set),
    **dict.fromkeys([np.ndarray, np.memmap], array_part),
}

_EXACT: dict[type, Callable[[Any], Part]] = {
    **dict.fromkeys(SCALARS, _scalar),
    types.CodeType: program.code_part,
    types.FunctionType: program.function_part,
    **dict.fromkeys([types.BuiltinFunctionType, types.MethodWrapperType], program.builtin_part),
    types.MethodType: program.method_part,
    types.WrapperDescriptorType: program.descriptor_part,
    types.MethodDescriptorType: program.descriptor_part,
    types.ClassMethodDescriptorType: program.descriptor_part,
    **dict.fromkeys([types.GetSetDescriptorType, types.MemberDescriptorType], program.slot_part),
    **dict.fromkeys([staticmethod, classmethod], wrappers.wrapper_part),
    functools.cached_property: wrappers.wrapper_part,
    functools._lru_cache_wrapper: wrappers.wrapper_part,
    functools.partial: wrappers.partial_part,
    Field: program.field_part,
    type(os.environ): _environment,
    contextvars.ContextVar: wrappers.variable_part,
    contextvars.Context: wrappers.context_part,
    **dict.fromkeys([io.FileIO, io.BufferedReader, io.BufferedWriter], file_part),
    **dict.fromkeys([io.BufferedRandom, io.TextIOWrapper], file_part),
}

# Neither locks nor loggers change a sample; a script's logger has another name in a spawned
# process. What is held weakly is a cache or a registry, never an object's own state: it could not
# be pickled.
_STATELESS: list[type] = [
    type(threading.Lock()),
    type(threading.RLock()),
    threading.local,
    logging.Logger,
    contextvars.Token,
    weakref.ref,
    weakref.ProxyType,
    weakref.CallableProxyType,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
]

_FAMILIES: list[tuple[type, Callable[[Any], Part]]] = [
    (type, program.class_part),
    (Enum, _member),
    (PurePath, _path),
    (types.ModuleType, program.module_part),
    (property, wrappers.property_part),
    (np.generic, _number),
    (Storage, _storage),
    *((kind, _without_state) for kind in _STATELESS),
]
