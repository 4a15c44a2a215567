"""A slot read back into a sample: every array, tensor and image is a private copy.

Classes (namedtuple, dataclass) are looked up by name here; torch and PIL are imported here if a
sample needs them. A dataclass gets its fields as pickle would set them: `__init__` does not run
again.
Not here: many samples at once (gather.py).
"""

import ast
import dataclasses
import struct
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, OurError
from joader.memory import classes, objects, pictures
from joader.memory.dtypes import dtype_of
from joader.memory.extras import needed
from joader.memory.layout import DICTS, LENGTH_BYTES, TEXTS, Branch, Layout, Leaf, Node


def read(
    layout: Layout, slot: NDArray[np.uint8], *, allow_pickle: bool = False, lent: bool = False
) -> Any:
    """Return the sample at the start of the slot; in-place edits of it never reach the slot.

    `allow_pickle`: load pickled objects, which runs code; only after the other side is known to be
    the same user. `lent`: arrays are read-only views of the slot, for code that is known to copy
    what it keeps before the slot is released.
    """
    if slot.size < layout.size_bytes:
        raise OurError(
            f"a slot of {slot.size} bytes is too small for a sample of {layout.size_bytes}"
        )
    if lent:
        slot = slot.view()
        slot.flags.writeable = False
    return _value(layout.root, slot, iter(layout.offsets), allow_pickle, lent)


def _value(
    node: Node, slot: NDArray[np.uint8], offsets: Iterator[int], allow_pickle: bool, lent: bool
) -> Any:
    if isinstance(node, Leaf):
        if lent and node.kind == "array":
            return np.ndarray(node.shape, dtype_of(node.dtype), slot, next(offsets))
        return _leaf_value(node, slot, next(offsets), allow_pickle)
    if node.kind == "image":
        pixels, palette, info = node.children
        assert isinstance(pixels, Leaf)
        start = next(offsets)
        return pictures.put_together(
            node.names,
            slot[start : start + pixels.size_bytes],
            _value(palette, slot, offsets, allow_pickle, lent),
            _value(info, slot, offsets, allow_pickle, lent),
        )
    children = [_value(child, slot, offsets, allow_pickle, lent) for child in node.children]
    return build(node, children)


def build(branch: Branch, children: list[Any]) -> Any:
    """Return the container of this branch, of its original type, with these children."""
    kind, names = branch.kind, branch.names
    if kind == "list":
        return children
    if kind == "tuple":
        return tuple(children)
    if kind in DICTS:
        pairs = kind.endswith("of pairs")
        keys = children[::2] if pairs else map(_key, names)
        items = zip(keys, children[1::2] if pairs else children, strict=True)
        return OrderedDict(items) if kind.startswith("ordered") else dict(items)
    cls = classes.find(names[0])
    if kind == "namedtuple":
        fields = getattr(cls, "_fields", None)
        if not issubclass(cls, tuple) or fields is None or len(fields) != len(children):
            raise BadArgument(
                f"a sample is a {names[0]}, a namedtuple of {len(children)} fields; here it has "
                f"{fields!r}: its definition differs between the two processes"
            )
        return tuple.__new__(cls, children)
    there = None
    if dataclasses.is_dataclass(cls):
        there = tuple(field.name for field in dataclasses.fields(cls))
    if there != names[1:]:
        raise BadArgument(
            f"a sample is a {names[0]}, a dataclass with fields {names[1:]!r}; here it has "
            f"{there!r}: its definition differs between the two processes"
        )
    value: Any = object.__new__(cls)
    for name, child in zip(names[1:], children, strict=True):
        object.__setattr__(value, name, child)
    return value


def _leaf_value(leaf: Leaf, slot: NDArray[np.uint8], offset: int, allow_pickle: bool) -> Any:
    """Return the value of one leaf that starts at `offset`, as a private copy."""
    kind = leaf.kind
    if kind == "tensor":
        return _tensor(leaf, slot, offset)
    if leaf.dtype:
        array = np.ndarray(leaf.shape, dtype_of(leaf.dtype), slot, offset)
        if kind == "array" and leaf.order:
            return array.transpose(leaf.order).copy("C").transpose(np.argsort(leaf.order))
        if kind == "array":
            return array.copy("C")
        if kind == "scalar":
            return array.copy()[()]
        return array.tolist() if kind == "numbers in list" else tuple(array.tolist())
    if kind in _NUMBERS:
        return _NUMBERS[kind](slot.data, offset)
    if kind in TEXTS:
        return read_text(kind, slot.data, offset)
    data = slot.data[offset : offset + leaf.size_bytes]
    if kind == "big int":
        return int.from_bytes(data, "little", signed=True)
    if kind == "object":
        return objects.load(bytes(data), allow_pickle=allow_pickle)
    raise OurError(f"a leaf of kind {kind!r} cannot be read; please report this")


def read_text(kind: str, data: memoryview, offset: int) -> str | bytes | bytearray:
    """Return the text or bytes at this offset, which their length precedes."""
    (length,) = _LENGTH.unpack_from(data, offset)
    found = data[offset + LENGTH_BYTES : offset + LENGTH_BYTES + length]
    if kind == "str":
        return str(found, "utf-8", "surrogatepass")
    return bytes(found) if kind == "bytes" else bytearray(found)


_LENGTH = struct.Struct("=Q")

_NUMBERS: dict[str, Any] = {
    "none": lambda data, offset: None,
    "bool": lambda data, offset: bool(data[offset]),
    "int": lambda data, offset: struct.unpack_from("=q", data, offset)[0],
    "float": lambda data, offset: struct.unpack_from("=d", data, offset)[0],
    "complex": lambda data, offset: complex(*struct.unpack_from("=dd", data, offset)),
}


def _tensor(leaf: Leaf, slot: NDArray[np.uint8], offset: int) -> Any:
    torch = needed("torch", "torch")
    tensor = torch.empty(leaf.shape, dtype=getattr(torch, leaf.dtype), device="cpu")
    if tensor.numel():
        place = tensor.reshape(-1).view(torch.uint8).numpy()
        np.copyto(place, slot[offset : offset + leaf.size_bytes])
    if leaf.order:
        back = np.argsort(leaf.order).tolist()
        return tensor.permute(leaf.order).contiguous().permute(back)
    return tensor


@lru_cache(maxsize=4096)
def _key(literal: str) -> Any:
    return ast.literal_eval(literal)
