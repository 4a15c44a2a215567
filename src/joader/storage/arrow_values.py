"""Values out of Arrow arrays: some rows of one array, without going through an object for each.

Bytes and texts are cut from the array's own buffer, numbers are indexed by NumPy. Arrow's `take`
would copy them first and then make a Python object of each. What is neither (structs, maps, arrays
with nulls) goes that way. A struct of `bytes` and `path` is an image of a Hugging Face dataset: its
value is the bytes.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from joader.storage.packages import needed
from joader.storage.storage import Rows, Values

Taker: TypeAlias = Callable[[Rows], Values]  # from places in an array to their values
_NUMPY = frozenset(
    [
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "float", "double", "halffloat"),
    ]
)
_TEXTS = {"binary": "bytes", "large_binary": "bytes", "string": "str", "large_string": "str"}


def type_name(kind: Any) -> str | None:
    """Return the type of a column as a storage calls it; None where only its values tell."""
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
    return lambda places: values[places]


def _numbers_or_none(array: Any) -> Taker:
    """Take numbers of the column's own type, as in chunks without nulls, or None."""
    values = array.fill_null(False if str(array.type) == "bool" else 0).to_numpy(False)
    there = array.is_valid().to_numpy(False)
    return lambda places: [values[at] if there[at] else None for at in places.tolist()]


def _texts(array: Any, name: str) -> Taker:
    _, offsets, data = array.buffers()
    wide = np.int64 if name.startswith("large") else np.int32
    if offsets is None or data is None:  # nothing but empty texts
        empty = "" if _TEXTS[name] == "str" else b""
        return lambda places: [empty] * len(places)
    ends = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize)
    body = memoryview(data)

    def cut(places: Rows) -> list[bytes]:
        firsts, lasts = ends[places].tolist(), ends[places + 1].tolist()
        return [bytes(body[a:b]) for a, b in zip(firsts, lasts, strict=True)]

    if _TEXTS[name] == "str":
        return lambda places: [text.decode() for text in cut(places)]
    return cut


def _is_list(array: Any) -> bool:
    return str(array.type).startswith(("list<", "large_list<", "fixed_size_list<"))


def _lists(array: Any) -> Taker:
    """Take lists of numbers, each as an array of its own."""
    values = array.values
    if values.null_count:
        return _any(array)
    numbers = values.to_numpy(zero_copy_only=False)
    if str(array.type).startswith("fixed_size_list<"):
        size = array.type.list_size
        table = numbers[array.offset * size : (array.offset + len(array)) * size]
        table = table.reshape(len(array), size)
        return lambda places: table[places]
    ends = array.offsets.to_numpy()
    return lambda places: [
        numbers[a:b].copy()
        for a, b in zip(ends[places].tolist(), ends[places + 1].tolist(), strict=True)
    ]


def _any(array: Any) -> Taker:
    arrow = needed("pyarrow", "an Arrow array", "parquet")
    return lambda places: list(array.take(arrow.array(places)).to_pylist())
