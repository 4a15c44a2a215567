"""How one prepared sample lies in its slot: a small plain value, equal for samples of equal shape.

A layout is a tree. *Leaves* have bytes in the slot, in the order of the tree, each at an offset
that follows from the sizes before it; *branches* are containers and have none. Values that differ
from row to row (pixels, a label, a short text) are in the slot; types, shapes and keys, which do
not, are in the layout. So the samples of one dataset mostly share one layout, which is sent once.

Invariants: equal layouts have equal offsets; `from_bytes(to_bytes())` is equal; everything inside
is plain text and numbers, so keys that Python calls equal (1, True, 1.0) are different here.
Misuse to avoid: comparing layouts to see whether samples stack; compare `form`, which ignores the
room that a text takes.
Not here: how values become leaves (parcel.py) and leaves become values (sample.py).
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from joader.errors import OurError
from joader.memory.dtypes import TENSOR_ITEM_BYTES, dtype_of

# Leaves of 64 bytes and more start at a cache line, the stride of a gather (rows.py); small ones
# are aligned as their type needs, so that 40 numbers take 320 bytes of a slot, not 2,560.
LINE_BYTES = 64

# A text or bytes is preceded by its length. Up to LONGEST_CLASS_BYTES in all, its room is the next
# power of two, so that file names and captions of many lengths have few layouts.
LENGTH_BYTES = 8
LONGEST_CLASS_BYTES = 1024

# Bytes of a leaf whose kind alone determines them. Kinds in _COUNTED have their bytes as shape.
_FIXED_BYTES = {"none": 0, "bool": 1, "int": 8, "float": 8, "complex": 16}
_TYPED = frozenset(["array", "scalar", "numbers in list", "numbers in tuple"])
TEXTS = frozenset(["str", "bytes", "bytearray"])
_COUNTED = TEXTS | {"big int", "object", "pixels"}
DICTS = frozenset(["dict", "ordered dict", "dict of pairs", "ordered dict of pairs"])
_BRANCHES = DICTS | {"tuple", "list", "namedtuple", "dataclass", "image"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value at one place in the slot."""

    kind: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    # How the value lay in memory before: its axes, the one with the largest steps first; empty for
    # C order. All lie in their slots in C order, so a gather can ignore this.
    order: tuple[int, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes that it takes in the slot."""
        if self.kind in _FIXED_BYTES:
            return _FIXED_BYTES[self.kind]
        if self.kind == "tensor":
            return TENSOR_ITEM_BYTES[self.dtype] * math.prod(self.shape)
        return (dtype_of(self.dtype).itemsize if self.dtype else 1) * math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Branch:
    """A container. `names`: keys as Python literals, or the class and its fields, or the mode."""

    kind: str
    names: tuple[str, ...]
    children: tuple["Leaf | Branch", ...]


Node = Leaf | Branch


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves in the order of the slot."""
    if isinstance(node, Leaf):
        yield node
    else:
        for child in node.children:
            yield from leaves(child)


def alignment(size_bytes: int) -> int:
    """Return the alignment of a leaf of this size."""
    return LINE_BYTES if size_bytes >= LINE_BYTES else 16 if size_bytes > 8 else 8


def text_room(length_bytes: int) -> int:
    """Return the bytes that a text of this length takes, its length field included."""
    room = LENGTH_BYTES + length_bytes
    if room > LONGEST_CLASS_BYTES:
        return room
    return max(LINE_BYTES, 1 << (room - 1).bit_length())


@dataclass(frozen=True)
class Layout:
    """Where each leaf of a sample is in its slot, and what type it had."""

    root: Node

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each leaf starts, in bytes from the start of the slot."""
        return self._places[0]

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of the slot that the sample takes."""
        return self._places[1]

    @cached_property
    def spans(self) -> tuple[tuple[Leaf, int, int], ...]:
        """Each leaf with its start and end."""
        places = zip(leaves(self.root), self.offsets, strict=True)
        return tuple((leaf, start, start + leaf.size_bytes) for leaf, start in places)

    @cached_property
    def _places(self) -> tuple[tuple[int, ...], int]:
        end, offsets = 0, []
        for leaf in leaves(self.root):
            size = leaf.size_bytes
            offsets.append(-(-end // (unit := alignment(size))) * unit)
            end = offsets[-1] + size
        return tuple(offsets), end

    @cached_property
    def form(self) -> Node:
        """The tree without the room that texts take: samples of equal form stack leaf by leaf."""
        return _form(self.root)

    def to_bytes(self) -> bytes:
        """Return the layout as JSON, about 70 bytes for an image with a label."""
        return self._as_bytes

    @cached_property
    def _as_bytes(self) -> bytes:
        return _encoded(self)

    @staticmethod
    def from_bytes(data: bytes) -> "Layout":
        """Return the layout with these bytes; usually the same object for the same bytes."""
        return _decoded(data)


def _form(node: Node) -> Node:
    if isinstance(node, Leaf):
        return Leaf(node.kind, *((node.dtype, node.shape) if node.kind not in TEXTS else ()))
    return Branch(node.kind, node.names, tuple(_form(child) for child in node.children))


@lru_cache(maxsize=4096)
def _encoded(layout: Layout) -> bytes:
    return json.dumps(_plain(layout.root), separators=(",", ":")).encode()


@lru_cache(maxsize=4096)
def _decoded(data: bytes) -> Layout:
    try:
        return Layout(_node(json.loads(data)))
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError) as error:
        raise OurError(f"{data[:80]!r} is not a layout: {error!r}") from error


def _plain(node: Node) -> list[Any]:
    if isinstance(node, Branch):
        return [node.kind, node.names, [_plain(child) for child in node.children]]
    if not node.dtype and not node.shape:
        return [node.kind]
    return [node.kind, node.dtype, node.shape, *([node.order] if node.order else [])]


def _node(plain: list[Any]) -> Node:
    kind, *rest = plain
    if kind in _BRANCHES:
        names, children = rest
        return Branch(kind, tuple(map(str, names)), tuple(_node(child) for child in children))
    if kind not in _FIXED_BYTES and kind not in _TYPED | _COUNTED | {"tensor"}:
        raise ValueError(f"kind {kind!r}")
    dtype, shape, order = (*rest, ())[:3] if rest else ("", (), ())
    if order and sorted(order) != list(range(len(shape))):
        raise ValueError(f"order {order!r}")
    if not all(isinstance(length, int) and length >= 0 for length in shape):
        raise ValueError(f"shape {shape!r}")
    leaf = Leaf(kind, dtype, tuple(shape), tuple(order))
    if leaf.size_bytes < 0 or (kind in _TYPED and not dtype):
        raise ValueError(f"leaf {plain!r}")
    return leaf
