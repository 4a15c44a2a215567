"""Element types of NumPy and torch to names and back.

A NumPy dtype is written as its `str` ("<f4", ">i2", "<M8[ns]"), a structured one as the Python
literal that the .npy format uses. A dtype that does not round-trip (objects, custom dtypes of other
packages, zero-length strings) has no name; its arrays travel as objects (objects.py).
"""

import ast
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib import format as npy

# Bytes per element of the torch types that a slot can hold: a daemon without torch must know the
# size of a slot. Tensors of other types (quantized, sub-byte, complex32) travel as objects.
TENSOR_ITEM_BYTES = {
    **dict.fromkeys(["bool", "uint8", "int8", "float8_e4m3fn", "float8_e5m2"], 1),
    **dict.fromkeys(["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"], 1),
    **dict.fromkeys(["int16", "uint16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["int32", "uint32", "float32"], 4),
    **dict.fromkeys(["int64", "uint64", "float64", "complex64"], 8),
    "complex128": 16,
}

# Element types that NumPy and torch both have, by the one name both use.
SHARED_NAMES = frozenset(TENSOR_ITEM_BYTES) & frozenset(map(str, np.sctypeDict))


@lru_cache(maxsize=1024)
def name_of(dtype: np.dtype[Any]) -> str | None:
    """Return the name of a NumPy dtype, or None if it would not round-trip."""
    if dtype.hasobject or dtype.itemsize == 0:
        return None
    name = dtype.str if dtype.names is None else repr(dtype.descr)
    try:
        back = dtype_of(name)
    except (TypeError, ValueError, SyntaxError):
        return None
    return name if back == dtype and back.type is dtype.type else None


@lru_cache(maxsize=1024)
def dtype_of(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype with this name."""
    dtype = npy.descr_to_dtype(ast.literal_eval(name)) if name.startswith("[") else np.dtype(name)
    if dtype.hasobject:
        raise ValueError(f"{name} holds pointers, which are meaningless in another process")
    return dtype


def tensor_name_of(name: str) -> str | None:
    """Return torch's name for the NumPy dtype with this name, or None if torch has none."""
    dtype = dtype_of(name)
    return dtype.name if dtype.isnative and dtype.name in SHARED_NAMES else None
