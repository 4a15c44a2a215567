"""A sample taken apart, ready for its slot: its layout, and what to copy to each leaf.

`pack` looks at every value once and copies none of the large ones; then the size is known, a slot
can be reserved, and `Parcel.write` makes the one copy, from the preparing code's array into the
slot. Exact types only: a subclass (an Enum, a masked array, a tensor with metadata) would come back
as its parent, so it travels as an object instead. Dense arrays and tensors come back with their
axes in the order that they had in memory, others in C order.

A parcel refers to memory of the preparing code, which may use that for its next sample: one that is
written later is `kept` before that code runs again.

Misuse to avoid: changing the sample between `pack` and `write` or `kept`. Not here: how it comes
back (sample.py); which slot it gets (cache/runs.py).
"""

import dataclasses
import math
import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import OurError
from joader.memory import classes, dtypes, objects, pictures
from joader.memory.extras import loaded
from joader.memory.layout import LENGTH_BYTES, TEXTS, Branch, Layout, Leaf, Node, leaves, text_room

# A value that is nested deeper (or contains itself) or has more children is pickled as a whole, so
# that a layout stays small. A list of numbers is one leaf, however long.
MAX_DEPTH = 50
MAX_CHILDREN = 256
# How many layouts of plain samples are kept, by the kinds of their parts.
MOST_PLAIN = 1024
_PLAIN = ("array", "scalar")
_plain_layouts: dict[Hashable, Layout] = {}

# A class that overrides one of these decides for itself how it is made and copied.
_HOOKS = ("__new__", "__reduce__", "__reduce_ex__")

_NUMBERS: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}
_MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "ordered dict"}


class Parcel:
    """One sample on its way into a slot."""

    __slots__ = ("_sources", "layout")

    def __init__(self, layout: Layout, sources: Sequence[Any]) -> None:
        self.layout = layout
        self._sources = sources

    def kept(self) -> "Parcel":
        """Return a copy in memory of its own, which the preparing code cannot change."""
        return Parcel(self.layout, [_kept(source) for source in self._sources])

    def write(self, slot: NDArray[np.uint8]) -> None:
        """Copy the sample to the start of the slot, which starts at a multiple of 64 bytes."""
        if slot.size < self.layout.size_bytes:
            raise OurError(
                f"a sample of {self.layout.size_bytes} bytes does not fit its slot of {slot.size}"
            )
        for (leaf, offset, end), source in zip(self.layout.spans, self._sources, strict=True):
            if end == offset:
                continue
            if leaf.kind == "tensor":
                torch = loaded("torch")
                place = torch.from_numpy(slot[offset:end]).view(source.dtype)
                place.view(source.shape).copy_(source)
            elif isinstance(source, np.ndarray):
                place = np.ndarray(source.shape, source.dtype, slot, offset)
                # A step that got the slot as `out` has already written there.
                if not _same(place, source):
                    np.copyto(place, source, casting="equiv")
            else:
                if leaf.kind in TEXTS:
                    slot.data[offset : offset + LENGTH_BYTES] = struct.pack("=Q", len(source))
                    offset += LENGTH_BYTES
                slot.data[offset : offset + len(source)] = source


def _kept(source: Any) -> Any:
    """Return a private copy of a leaf's source, which the preparing code may still hold."""
    if isinstance(source, np.ndarray):
        return np.array(source, order="C")
    if isinstance(source, bytes):
        return source
    return bytes(source) if isinstance(source, bytearray) else source.clone()


def _same(place: NDArray[Any], source: NDArray[Any]) -> bool:
    """Return whether a source was made in its place: images may be decoded straight into a slot."""
    ours, theirs = place.__array_interface__, source.__array_interface__
    return bool(ours["data"][0] == theirs["data"][0] and source.flags.c_contiguous)


def pack(sample: object) -> Parcel:
    """Take a sample apart into its layout and the sources of its leaves, without copying."""
    sources: list[Any] = []
    kind = _plain_kind(sample)
    layout = _plain_layouts.get(kind)
    if layout is not None:
        parts = sample if type(sample) is tuple else (sample,)
        sources = [p if isinstance(p, np.ndarray) else p.tobytes() for p in parts]
    else:
        layout = Layout(_node(sample, sources, 0))
        plain = kind is not None and all(leaf.kind in _PLAIN for leaf in leaves(layout.root))
        if plain and len(_plain_layouts) < MOST_PLAIN:
            _plain_layouts[kind] = layout
    return Parcel(layout, sources)


def _plain_kind(sample: object) -> Hashable | None:
    """Return a key for the layout of an array, or of a tuple of arrays and NumPy numbers.

    None for all other samples. The key is there because computing a layout takes longer than
    decoding a small image.
    """
    if type(sample) is not tuple:
        return _array_kind(sample) if type(sample) is np.ndarray else None
    kinds: list[Hashable] = []
    for part in sample:
        if type(part) is np.ndarray:
            kinds.append(_array_kind(part))
        else:
            kinds.append(part.dtype.num if isinstance(part, np.number) else None)
    return None if None in kinds else tuple(kinds)


def _array_kind(array: NDArray[Any]) -> Hashable | None:
    dtype = array.dtype
    if dtype.kind not in "biuf" or not dtype.isnative:
        return None
    steps = None if array.flags.c_contiguous else array.strides
    return dtype.num, array.shape, steps


def _node(value: Any, sources: list[Any], depth: int) -> Node:
    """Describe a value; append what its leaves are copied from to `sources`, in their order."""
    found = _leaf(value)
    if found is None:
        branch = _branch(value) if depth < MAX_DEPTH else None
        if branch is not None:
            kind, names, children = branch
            nodes = tuple(_node(child, sources, depth + 1) for child in children)
            return Branch(kind, names, nodes)
        found = _counted("object", objects.dump(value))
    leaf, source = found
    sources.append(source)
    return leaf


def _leaf(value: Any) -> tuple[Leaf, Any] | None:
    """Return leaf and source of a value that is neither a container nor unknown."""
    # By exact type: True is an int to isinstance, and subclasses must not match.
    describe = _LEAVES.get(type(value))
    if describe is not None:
        return describe(value)
    if isinstance(value, np.generic):
        return _scalar(value)
    torch = loaded("torch")
    return _tensor(value, torch) if torch is not None and type(value) is torch.Tensor else None


def _branch(value: Any) -> tuple[str, tuple[str, ...], Sequence[Any]] | None:
    """Return kind, names and children; None if it is not a container or must be an object."""
    if pictures.is_picture(value):
        names, pixels, palette, info = pictures.take_apart(value)
        return "image", names, (_Pixels(pixels), palette, info)
    if dataclasses.is_dataclass(type(value)):
        return _dataclass(value)
    if isinstance(value, tuple | list):
        return _sequence(value)
    return _mapping(value) if isinstance(value, dict) else None


def _sequence(value: Sequence[Any]) -> tuple[str, tuple[str, ...], Sequence[Any]] | None:
    """Return a list or tuple as its elements, a namedtuple also with the name of its class."""
    cls: Any = type(value)
    if len(value) > MAX_CHILDREN:
        return None
    if cls is tuple or cls is list:
        return cls.__name__, (), value
    named = issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)
    if not named or len(cls._fields) != len(value) or getattr(value, "__dict__", None):
        return None
    return "namedtuple", (classes.name_of(cls),), value


def _mapping(value: dict[Any, Any]) -> tuple[str, tuple[str, ...], Sequence[Any]] | None:
    """Return a dict as its values if all keys are literals; else as alternating keys and values."""
    kind = _MAPPINGS.get(type(value))
    if kind is None or len(value) > MAX_CHILDREN:
        return None
    if not all(map(_is_literal, value)):
        return f"{kind} of pairs", (), [part for pair in value.items() for part in pair]
    return kind, tuple(map(repr, value)), tuple(value.values())


def _dataclass(value: Any) -> tuple[str, tuple[str, ...], Sequence[Any]] | None:
    """Return a dataclass as its fields, unless there is more to it than its fields."""
    cls: Any = type(value)
    plain: Any = object
    if any(getattr(cls, name) is not getattr(plain, name) for name in _HOOKS):
        return None
    # dataclass(frozen=True, slots=True) has a __getstate__, which returns only its fields.
    getstate = cls.__getstate__
    if getstate is not plain.__getstate__ and getstate.__module__ != "dataclasses":
        return None
    names = tuple(field.name for field in dataclasses.fields(cls))
    if len(names) > MAX_CHILDREN or not all(hasattr(value, name) for name in names):
        return None
    if not getattr(value, "__dict__", {}).keys() <= set(names):
        return None
    children = [getattr(value, name) for name in names]
    return "dataclass", (classes.name_of(cls), *names), children


def _is_literal(key: object) -> bool:
    """Return whether `ast.literal_eval(repr(key))` gives the same key, of the same type."""
    if type(key) is tuple:
        return all(map(_is_literal, key))
    if type(key) is int:
        return key.bit_length() < 1024  # Python refuses the repr of very long ones
    if type(key) is float:
        return math.isfinite(key)
    return key is None or type(key) in (str, bytes, bool)


class _Pixels(bytes):
    """Pixels of an image, as opposed to bytes of the user."""


def _counted(kind: str, data: bytes) -> tuple[Leaf, bytes]:
    return Leaf(kind, "", (len(data),)), data


def _text(kind: str, data: bytes | bytearray) -> tuple[Leaf, bytes | bytearray]:
    return Leaf(kind, "", (text_room(len(data)),)), data


def _int(value: int) -> tuple[Leaf, bytes]:
    if -(2**63) <= value < 2**63:
        return Leaf("int"), struct.pack("=q", value)
    return _counted("big int", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))


def _numbers(value: Sequence[Any]) -> tuple[Leaf, Any] | None:
    """Return a list or tuple of numbers of one type as one leaf."""
    kinds = set(map(type, value))
    dtype = _NUMBERS.get(kinds.pop()) if len(kinds) == 1 else None
    if dtype is None:
        return None
    try:
        row: NDArray[Any] = np.array(value, dtype)
    except OverflowError:
        return None
    return Leaf(f"numbers in {type(value).__name__}", row.dtype.str, row.shape), row


def _array(value: NDArray[Any]) -> tuple[Leaf, Any] | None:
    name = dtypes.name_of(value.dtype)
    if name is None:
        return None
    order = () if value.flags.c_contiguous else _order(value.shape, value.strides)
    if order and not value.transpose(order).flags.c_contiguous:
        order = ()
    return Leaf("array", name, value.shape, order), value


def _order(shape: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes, that with the largest steps first."""
    # Axes of one element may have any step: they stay where they are.
    inner = sorted((n for n in range(len(shape)) if shape[n] > 1), key=lambda n: -steps[n])
    axes = iter(inner)
    return tuple(next(axes) if length > 1 else n for n, length in enumerate(shape))


def _scalar(value: np.generic) -> tuple[Leaf, Any] | None:
    name = dtypes.name_of(value.dtype)
    # NumPy strips trailing zeros from a string that it takes out of an array.
    if name is None or value.dtype.kind in "US":
        return None
    return Leaf("scalar", name), value.tobytes()


def _tensor(value: Any, torch: Any) -> tuple[Leaf, Any] | None:
    name = str(value.dtype).removeprefix("torch.")
    plain = value.layout is torch.strided and value.device.type == "cpu" and not value.is_nested
    if not plain or value.requires_grad or name not in dtypes.TENSOR_ITEM_BYTES:
        return None
    shape: tuple[int, ...] = tuple(value.shape)
    order: tuple[int, ...] = ()
    if not value.is_contiguous():
        order = _order(shape, value.stride())
        order = order if value.permute(order).is_contiguous() else ()
    return Leaf("tensor", name, shape, order), value


_LEAVES: dict[type, Callable[[Any], tuple[Leaf, Any] | None]] = {
    type(None): lambda value: (Leaf("none"), b""),
    bool: lambda value: (Leaf("bool"), struct.pack("=?", value)),
    int: _int,
    float: lambda value: (Leaf("float"), struct.pack("=d", value)),
    complex: lambda value: (Leaf("complex"), struct.pack("=dd", value.real, value.imag)),
    str: lambda value: _text("str", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _text("bytes", value),
    bytearray: lambda value: _text("bytearray", value),
    list: _numbers,
    tuple: _numbers,
    np.ndarray: _array,
    np.memmap: _array,
    _Pixels: lambda value: _counted("pixels", value),
}
