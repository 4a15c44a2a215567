"""Whether a row comes out here as another job's worker has made it.

It is prepared with the random numbers of the sample that it is compared with, so that random code
makes the same of it, too. What such code draws from elsewhere is different each time and tells
nothing: values that differ between two preparations here are not compared. An object without a
layout of its own is equal if its pickle is, or if `==` says so; else it counts as different.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.memory import Arena, Layout, objects, pack
from joader.memory.contents import contents
from joader.memory.layout import Branch, Leaf, Node, leaves
from joader.messages import Compare, Compared
from joader.recipe.parts import SharedPart
from joader.recipe.randomness import key_of, start_random_numbers

_OBJECT = "object"
_TREE = -1  # stands for the types and shapes of all values


class _Values(NamedTuple):
    """A sample taken apart."""

    tree: Node
    kinds: list[str]
    contents: list[NDArray[np.uint8]]

    @classmethod
    def of(cls, layout: Layout, slot: NDArray[np.uint8]) -> "_Values":
        """Look at what lies in a slot."""
        kinds = [leaf.kind for leaf in leaves(layout.root)]
        return cls(_without_sizes_of_objects(layout.root), kinds, list(contents(layout, slot)))

    def differ_from(self, other: "_Values") -> set[int]:
        """Return the places of values that differ."""
        if self.tree != other.tree:
            return {_TREE}
        pairs = zip(self.kinds, self.contents, other.contents, strict=True)
        return {place for place, pair in enumerate(pairs) if not _equal(*pair)}

    def objects(self) -> set[int]:
        """Return the places of objects without a layout."""
        return {place for place, kind in enumerate(self.kinds) if kind == _OBJECT}


def compared(
    order: Compare, shared: SharedPart, step: Callable[[int], None] | None, arena: Arena
) -> Compared:
    """Prepare a row once more, and compare it with what lies in its slot."""

    def made() -> _Values:
        if not shared.deterministic:
            start_random_numbers(key_of(order.key, order.position, order.times))
        parcel = pack(shared.prepare(order.row, None, step))
        slot = np.zeros(max(1, parcel.layout.size_bytes), np.uint8)
        parcel.write(slot)
        return _Values.of(parcel.layout, slot)

    layout = Layout.from_bytes(order.layout)
    mine, theirs = made(), _Values.of(layout, arena.slot(order.offset, layout.size_bytes))
    different = mine.differ_from(theirs)
    if different and order.fresh:
        different -= mine.differ_from(made()) - mine.objects()
    return Compared(order.job, order.sample, not different)


def _without_sizes_of_objects(node: Node) -> Node:
    """Return a tree in which objects that are pickled otherwise look alike."""
    if isinstance(node, Branch):
        children = tuple(map(_without_sizes_of_objects, node.children))
        return Branch(node.kind, node.names, children)
    return Leaf(_OBJECT) if node.kind == _OBJECT else node


def _equal(kind: str, one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    if np.array_equal(one, other) or kind != _OBJECT:
        return np.array_equal(one, other)
    try:
        found = [objects.load(data.tobytes(), allow_pickle=True) for data in (one, other)]
        return bool(found[0] == found[1])
    except Exception:  # any code of their classes may run here
        return False
