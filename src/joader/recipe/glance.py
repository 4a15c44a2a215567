"""Notices within microseconds what a training loop changes in its dataset during a pass.

A job that asked for no workers expects torch's behavior: rows are read in the job, when their batch
is asked for, from the dataset as the loop has left it (labels that the model has corrected, a
temperature that falls with each step). Rows that were read ahead, or by another job, come from the
dataset as it was. So the job looks at it before each batch.

It sees the attributes of the dataset and of objects within, data among the attributes of its class,
and the globals that its `__getitem__` reads: the identity of objects, the length of containers, the
version of tensors, the content of small containers and arrays, and, in larger ones with an element
per row, the elements of a batch's rows. The cost is bounded, so it does not see the rest;
docs/torch.md lists that. Not here: changes between two passes (fingerprint/), changes by reading
(watch.py).
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import methodcaller
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.storage import Storage

# Values that are looked at one by one: 20 to 30 ns each.
MOST_VALUES = 256
MOST_ELEMENTS = 64  # of a container
MOST_BYTES = 1024  # of an array
# Values with an element per row are copied, which takes less than a millisecond.
MOST_ROWS = 1 << 16
MOST_ROW_BYTES = 1 << 20

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
# Data that a library's code reads is not changed by a training loop.
_LIBRARIES = {"builtins", "torch", "numpy", "typing", "collections", "datasets", "joader"}


class Glance:
    """The state of a dataset when a pass began, for comparison."""

    def __init__(self, dataset: Any, rows: int = 0) -> None:
        """Remember the dataset's state; `rows` is the length of values with an element per row."""
        self._rows = rows
        self._places: list[_Place] = []
        self._tensors: list[tuple[str, Any, int]] = []
        self._arrays: list[tuple[str, NDArray[Any], bytes]] = []  # small ones
        self._long: list[tuple[str, Any, int]] = []  # containers whose elements are not looked at
        self._by_row: list[tuple[str, Any, Any]] = []  # with their earlier values
        self._left = MOST_VALUES
        self._walk(dataset)
        self._remember()

    def change(self) -> str:
        """Return the name of a value that has changed, or ""."""
        try:
            return self._change()
        except Exception:  # another thread is changing it, or an object's code raises
            return "dataset"

    def _change(self) -> str:
        if [*map(id, chain.from_iterable(map(_values, self._places)))] != self._ids:
            for place in self._places:
                if what := place.change():
                    return what
            self._remember()  # numbers that are equal, but not identical, to earlier ones
        for name, tensor, version in self._tensors:
            if tensor._version != version:
                return name
        for name, array, content in self._arrays:
            if array.tobytes() != content:
                return name
        for name, container, size in self._long:
            if len(container) != size:
                return name
        return ""

    @property
    def looks_at_rows(self) -> bool:
        """Whether any value has an element per row."""
        return bool(self._by_row)

    def change_of(self, rows: NDArray[np.int64]) -> str:
        """Return the name of a value whose elements for these rows have changed, or ""."""
        for name, container, before in self._by_row:
            if isinstance(container, np.ndarray):
                if container[rows].tobytes() != before[rows].tobytes():
                    return name
            else:
                for row in rows.tolist():
                    if container[row] is not before[row]:
                        return f"{name}[{row}]"
        return ""

    def _remember(self) -> None:
        self._ids = [id(value) for place in self._places for value in place.held]

    def _walk(self, dataset: Any) -> None:
        """Find values to watch, those nearest to the dataset first, up to the limit."""
        seen: set[int] = set()
        found: deque[tuple[str, Any]] = deque([("dataset", dataset)])
        while found and self._left > 0:
            name, value = found.popleft()
            if id(value) not in seen and not _is_closed(value):
                seen.add(id(value))
                with suppress(Exception):  # objects may run any code when inspected
                    found.extend(self._of(name, value))

    def _of(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        """Watch a value from now on; return the values in it."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            if not value.is_inference():  # NumPy's arrays have no version
                self._tensors.append((name, value, value._version))
        elif isinstance(value, np.ndarray):
            if value.nbytes <= MOST_BYTES:
                self._arrays.append((name, value, value.tobytes()))
            elif len(value) == self._rows and value.nbytes <= MOST_ROW_BYTES:
                self._by_row.append((name, value, value.copy()))
        elif isinstance(value, _CONTAINERS):
            return self._of_container(name, value)
        else:
            return [found for place in _places_of(name, value) for found in self._in(place)]
        return ()

    def _of_container(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        if len(value) <= MOST_ELEMENTS:
            elements = value.values if isinstance(value, dict) else value.__iter__
            return self._in(_Place(name, elements))
        self._long.append((name, value, len(value)))
        if isinstance(value, list) and len(value) == self._rows <= MOST_ROWS:
            self._by_row.append((name, value, list(value)))
        return ()

    def _in(self, place: "_Place") -> list[tuple[str, Any]]:
        """Watch a place from now on, unless there are too many; return its values by name."""
        if len(place.held) > self._left:
            return []
        self._left -= len(place.held) + 1  # each place takes time, too
        self._places.append(place)
        return list(zip(place.names_of_all(), place.held, strict=True))


class _Place:
    """A place that holds values: an object's attributes, elements, a module's names."""

    def __init__(
        self, name: str, values: Callable[[], Iterable[Any]], names: Iterable[str] = ()
    ) -> None:
        self.values = values
        self.held = list(values())  # kept alive, so that no other object gets their id
        self._name, self._names = name, names

    def change(self) -> str:
        """Return the name of a replaced value, or ""; equal numbers and texts count as same."""
        now, before = list(self.values()), self.held
        self.held = now
        if len(now) != len(before):
            return self._name
        for number, (new, old) in enumerate(zip(now, before, strict=True)):
            if new is not old and not (type(new) is type(old) in _PLAIN and new == old):
                return self.names_of_all()[number]
        return ""

    def names_of_all(self) -> list[str]:
        """Return the name of each value."""
        names = [f"{self._name}.{name}" for name in self._names]
        return names or [self._name] * len(self.held)


_values = methodcaller("values")


def _is_closed(value: Any) -> bool:
    """Return whether a value contains nothing to watch."""
    return isinstance(value, (*_PLAIN, np.generic, Storage)) or _is_code(value)


def _is_code(value: Any) -> bool:
    return isinstance(value, ModuleType) or callable(getattr(type(value), "__get__", None))


def _places_of(name: str, value: Any) -> Iterator[_Place]:
    """Yield the places of an object's attributes, and of data that its code may read."""
    if isinstance(value, type):
        return
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        yield _Place(name, attributes.values, attributes)
    for cls in type(value).__mro__:
        if _is_of_a_library(cls.__module__):
            continue
        slots = cls.__dict__.get("__slots__", ())
        if slots := [slots] if isinstance(slots, str) else list(slots):
            yield _Place(name, partial(map, partial(_slot, value), slots), slots)
        if "__getitem__" in vars(cls):
            yield from _data(f"{name}.{cls.__name__}", vars(cls), vars(cls))
            yield from _globals_of(vars(cls)["__getitem__"])


def _globals_of(function: Any) -> Iterator[_Place]:
    """Yield the places of data that a function may read from its globals and modules there."""
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, FunctionType):
        names, known = function.__code__.co_names, function.__globals__
        yield from _data(function.__module__, known, names)
        for name in names:
            module = known.get(name)
            if isinstance(module, ModuleType) and not _is_of_a_library(module.__name__):
                yield from _data(name, vars(module), names)


def _data(name: str, known: Mapping[str, Any], names: Iterable[str]) -> Iterator[_Place]:
    """Yield the place of those of these names that are data: neither code nor classes."""
    mine = [
        each
        for each in names
        if each in known
        and not each.startswith("__")
        and not (isinstance(known[each], type) or _is_code(known[each]))
    ]
    if mine:
        yield _Place(name, partial(map, known.get, mine), mine)


def _is_of_a_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _slot(value: Any, name: str) -> Any:
    return getattr(value, name, None)
