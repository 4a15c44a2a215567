"""Large containers, digested column by column instead of object by object.

A list of 1.28 M (path, class) pairs would be 4 M nodes and take half a minute; as columns it takes
a fifth of a second. Values of one type are taken together: plain ones as they are, lists and tuples
as their lengths and all their elements, dicts as their keys and all their values, records as their
class and all their attributes; a mixture as the sequence of types and then each type. Values that
fit none of these are handed back, to be walked one by one. How a value is treated depends on the
value alone, never on how it was built.
"""

import copyreg
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.recipe.fingerprint.graph import DIGEST_BYTES, Scalar, label

# Smaller containers are walked, so that a difference can be named element by element.
MIN_SIZE = 64
# Deeper elements are walked: this ends cycles (a list in itself), and real data is not deeper.
MAX_DEPTH = 6
# There may be this many elements per container; more may be one big object that is referenced many
# times, which a walk visits once.
MAX_GROWTH = 64
SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_CHUNK = 2**16  # values serialized at a time, so that the bytes of a list are never all in memory


class Bulk(NamedTuple):
    """What was found in a large container."""

    digest: bytes
    left: list[Any]  # objects that are still to be walked
    frozen: bool  # nothing in it can change while its elements are the same objects


def bulk(values: Sequence[Any]) -> Bulk:
    """Digest a sequence by its columns."""
    columns = _Columns()
    columns.add(values, 0)
    return Bulk(columns.hash.digest(), columns.left, columns.frozen)


def sorted_keys(keys: Sequence[Any]) -> list[Any] | None:
    """Sort keys if their own order is total and the same everywhere; else return None."""
    kinds = set(map(type, keys))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(keys)))
        if not kinds <= {str, int}:
            return None
    elif len(kinds) > 1 or not kinds <= {str, int, bytes}:
        return None
    try:
        return sorted(keys)
    except TypeError:  # (1, "a") and ("a", 1)
        return None


class _Columns:
    def __init__(self) -> None:
        self.hash = blake2b(digest_size=DIGEST_BYTES)
        self.left: list[Any] = []
        self.frozen = True

    def add(self, values: Sequence[Any], depth: int) -> None:
        kinds = dict.fromkeys(map(type, values))  # in the order in which they come
        groups = {kind: "plain" if kind in SCALARS else kind for kind in kinds}
        if len(set(groups.values())) == 1:
            self._add_group(next(iter(kinds)), values, depth)
            return
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups.values()))}
        sorted_out: list[list[Any]] = [[] for _ in numbers]
        which = np.fromiter((numbers[groups[type(value)]] for value in values), "<u4", len(values))
        for number, value in zip(which.tolist(), values, strict=True):
            sorted_out[number].append(value)
        self._note("mixed", len(values), len(numbers))
        self.hash.update(which.data)
        for group in sorted_out:
            self._add_group(type(group[0]), group, depth)

    def _add_group(self, kind: type, values: Sequence[Any], depth: int) -> None:
        if kind in SCALARS:
            self._note("plain", len(values))
            for start in range(0, len(values), _CHUNK):
                self.hash.update(label(*values[start : start + _CHUNK]))
            return
        add = self._rule(kind) if depth < MAX_DEPTH else None
        if add is None or not add(kind, values, depth + 1):
            self._note("others", len(values))
            self.left.extend(values)
            self.frozen = False
        elif not _is_frozen(kind):
            self.frozen = False

    def _rule(self, kind: type) -> Callable[[type, Sequence[Any], int], bool] | None:
        if kind is list or kind is tuple:
            return self._add_lists
        if kind is dict:
            return self._add_dicts
        if issubclass(kind, PurePath):
            return self._add_paths
        if issubclass(kind, np.number | np.bool_) and kind is not np.longdouble:
            return self._add_numbers
        return self._add_records if _is_record(kind) else None

    def _add_lists(self, kind: type, values: Sequence[Any], depth: int) -> bool:
        lengths = np.fromiter(map(len, values), "<i8", len(values))
        if lengths.sum() > MAX_GROWTH * (len(values) + MIN_SIZE):
            return False
        self._note("lists", kind.__name__, len(values))
        self.hash.update(lengths.data)
        self.add(list(chain.from_iterable(values)), depth)
        return True

    def _add_dicts(self, kind: type, values: Sequence[Any], depth: int) -> bool:
        if sum(map(len, values)) > MAX_GROWTH * (len(values) + MIN_SIZE):
            return False
        orders: dict[tuple[Any, ...], int] = {}  # numbered; one tuple per order, not one per dict
        filled = [orders.setdefault(tuple(value), len(orders)) for value in values]
        if not all(type(key) is str for order in orders for key in order):
            return False
        names = [tuple(sorted(order)) for order in orders]
        numbers = {one: number for number, one in enumerate(dict.fromkeys(names))}
        self._note("dicts", len(values), len(numbers))
        for one in numbers:
            self._note(*one)
        self.hash.update(np.array([numbers[one] for one in names], "<u4")[filled].data)
        gets = [_getter(one) for one in names]
        rows = (gets[number](value) for number, value in zip(filled, values, strict=True))
        self.add(list(chain.from_iterable(rows)), depth)
        return True

    def _add_paths(self, kind: type, values: Sequence[Any], depth: int) -> bool:
        self._note("paths", len(values))
        self.left.append(kind)
        self.add(list(map(str, values)), depth)
        return True

    def _add_numbers(self, kind: type, values: Sequence[Any], depth: int) -> bool:
        column: NDArray[Any] = np.array(values, kind)
        self._note("numbers", repr(column.dtype), len(values))
        self.hash.update(column.data)
        return True

    def _add_records(self, kind: type, values: Sequence[Any], depth: int) -> bool:
        self._note("records", len(values))
        self.left.append(kind)
        self.add(list(map(vars, values)), depth)
        return True

    def _note(self, *fields: Scalar) -> None:
        self.hash.update(label(*fields))


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda value: tuple(value.values())


def _is_frozen(kind: type) -> bool:
    """Return whether an object of this class cannot change, unless what it holds does."""
    paths = kind.__module__.partition(".")[0] == "pathlib"  # a user's subclass may do anything
    return kind is tuple or paths or issubclass(kind, np.generic)


def _is_record(kind: type) -> bool:
    """Return whether an object of this class is its attributes and nothing else."""
    names = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
    plain = kind not in copyreg.dispatch_table and all(
        getattr(kind, name, None) is getattr(object, name, None) for name in names
    )
    own = kind.__mro__[:-1]
    return (
        plain
        and bool(kind.__flags__ & _HEAP_TYPE)
        and kind.__dictoffset__ != 0
        and kind.__basicsize__ == _RECORD_BYTES
        and not any("__slots__" in vars(base) and vars(base)["__slots__"] for base in own)
        and not any(
            isinstance(value, cached_property) for base in own for value in vars(base).values()
        )
    )


class _Record:
    """The plainest possible class: others of its size have no state but their attributes."""


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
_RECORD_BYTES = _Record.__basicsize__
