"""Values from Arrow arrays: some rows of one array, without an intermediate object for each.

Bytes and strings are sliced from the array's own buffer, numbers are indexed by NumPy. Arrow's
`take` would copy them first and then make a Python object of each; only other types (structs, maps,
arrays with nulls) go that way. A struct of `bytes` and `path` is an image of a Hugging Face
dataset: its value is the bytes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from joader.storage.packages import needed
from joader.storage.storage import Rows, Values

_NUMPY = frozenset(
    [
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "float", "double", "halffloat"),
    ]
)
_TEXTS = {"binary": "bytes", "large_binary": "bytes", "string": "str", "large_string": "str"}


class Taker(NamedTuple):
    """The functions that take values out of an array: at many places, or at one."""

    many: Callable[[Rows], Values]
    one: Callable[[int], Any]
    in_array: bool = False  # whether many values are one NumPy array, unless one is missing


def type_name(kind: Any) -> str | None:
    """Return the type of a column as a storage names it; None if only its values show it."""
    name = str(kind)
    if name in _TEXTS:
        return _TEXTS[name]
    if _is_image(kind):
        return "bytes"
    if name.startswith("dictionary<"):
        return type_name(kind.value_type)
    return np.dtype(kind.to_pandas_dtype()).name if name in _NUMPY else None


def taker(array: Any) -> Taker:
    """Return what takes values out of an array."""
    if _is_image(array.type):
        fields = [array.type.field(number).name for number in range(array.type.num_fields)]
        array = array.flatten()[fields.index("bytes")]
    if hasattr(array.type, "storage_type"):
        array = array.storage
    name = str(array.type)
    if name.startswith("dictionary<"):
        array = array.dictionary_decode()
        name = str(array.type)
    if array.null_count == 0:
        if name in _NUMPY:
            return _numbers(array)
        if name in _TEXTS:
            return _texts(array, name)
        if _is_list(array) and str(array.type.value_type) in _NUMPY:
            return _lists(array)
    elif name in _NUMPY:
        return _numbers_or_none(array)
    return _any(array)


def _is_image(kind: Any) -> bool:
    if not str(kind).startswith("struct<"):
        return False
    fields = {field.name: str(field.type) for field in map(kind.field, range(kind.num_fields))}
    return set(fields) == {"bytes", "path"} and _TEXTS.get(fields["bytes"]) == "bytes"


def _numbers(array: Any) -> Taker:
    values = array.to_numpy(zero_copy_only=False)
    return Taker(values.__getitem__, values.__getitem__, in_array=True)


def _numbers_or_none(array: Any) -> Taker:
    """Take numbers of the column's own type, as in chunks without nulls, or None."""
    values = array.fill_null(False if str(array.type) == "bool" else 0).to_numpy(False)
    there = array.is_valid().to_numpy(False)

    def one(place: int) -> Any:
        return values[place] if there[place] else None

    def many(places: Rows) -> Values:
        return values[places] if there[places].all() else list(map(one, places.tolist()))

    return Taker(many, one, in_array=True)


def _texts(array: Any, name: str) -> Taker:
    _, offsets, data = array.buffers()
    is_text = _TEXTS[name] == "str"
    if offsets is None or data is None:  # nothing but empty strings
        return _one_by_one(lambda place: "" if is_text else b"")
    # Elements of a memory view are Python's own numbers: faster than NumPy's, one by one.
    is_large = name.startswith("large")
    size = 8 if is_large else 4
    raw = memoryview(offsets)[array.offset * size : (array.offset + len(array) + 1) * size]
    ends = raw.cast("q") if is_large else raw.cast("i")
    body = memoryview(data)
    if is_text:
        return _one_by_one(lambda place: str(body[ends[place] : ends[place + 1]], "utf-8"))
    return _one_by_one(lambda place: bytes(body[ends[place] : ends[place + 1]]))


def _is_list(array: Any) -> bool:
    return str(array.type).startswith(("list<", "large_list<", "fixed_size_list<"))


def _lists(array: Any) -> Taker:
    """Take lists of numbers, each as an array of its own."""
    if array.values.null_count:
        return _any(array)
    numbers = array.values.to_numpy(zero_copy_only=False)
    if str(array.type).startswith("fixed_size_list<"):
        size = array.type.list_size
        table = numbers[array.offset * size : (array.offset + len(array)) * size]
        table = table.reshape(len(array), size)
        return Taker(table.__getitem__, lambda place: table[place].copy(), in_array=True)
    ends = array.offsets.to_numpy()
    return _one_by_one(lambda place: numbers[ends[place] : ends[place + 1]].copy())


def _any(array: Any) -> Taker:
    arrow = needed("pyarrow", "an Arrow array", "parquet")
    return Taker(
        lambda places: list(array.take(arrow.array(places)).to_pylist()),
        lambda place: array[place].as_py(),
    )


def _one_by_one(one: Callable[[int], Any]) -> Taker:
    return Taker(lambda places: list(map(one, places.tolist())), one)
