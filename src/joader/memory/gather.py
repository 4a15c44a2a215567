"""Many slots into one batch: one native call per leaf, and nothing shared with the arena.

A batch looks as torch's `default_collate` would make it: a leading dimension; numbers become int64,
float64 and bool; strings stay strings; a tuple becomes a list, a namedtuple stays one. Samples that
`default_collate` would refuse, whose forms differ, or whose types only it can handle are returned
as a list of samples for the caller's collate.
Without tensors it does the same with NumPy arrays, of any dtype.
Misuse to avoid: gathering from slots that are not leased; nothing here would notice that they are
being written at the same time.
Not here: the copy itself (rows.py), reusable buffers (ring.py).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, OurError
from joader.memory.dtypes import SHARED_NAMES, tensor_name_of
from joader.memory.extras import loaded
from joader.memory.layout import LINE_BYTES, Branch, Layout, Leaf, Node
from joader.memory.rows import Allocate, ArrayRows, Rows, TensorRows
from joader.memory.sample import build, read, read_text


class Batch(NamedTuple):
    """The result of a gather."""

    data: Any
    collated: bool  # False: `data` is a list of samples


def gather(
    layouts: Sequence[Layout],
    arena: NDArray[np.uint8],
    offsets: Sequence[int] | NDArray[np.int64],
    *,
    tensors: bool | None = None,
    allocate: Allocate | None = None,
    allow_pickle: bool = False,
) -> Batch:
    """Return the samples at these offsets of the arena as one batch.

    `layouts`: one for each sample, or one for all. `tensors`: batches of tensors or of arrays;
    None: tensors if the caller has imported torch. `allocate`: returns the output buffers.
    """
    places = np.asarray(offsets, np.int64)
    _check(layouts, arena, places)
    tensors = loaded("torch") is not None if tensors is None else tensors
    if all(layout is layouts[0] or layout == layouts[0] for layout in layouts):
        layouts = layouts[:1]
    form = layouts[0].form
    if not all(layout.form == form for layout in layouts) or not _stacks(form, tensors):
        each = zip(layouts if len(layouts) > 1 else cycle(layouts), places.tolist(), strict=False)
        samples = [read(layout, arena[at:], allow_pickle=allow_pickle) for layout, at in each]
        return Batch(samples, collated=False)
    inside = np.array([layout.offsets for layout in layouts], np.int64)
    addresses = iter((places[:, None] + inside).T)
    rows = TensorRows(arena, allocate) if tensors else ArrayRows(arena, allocate)
    return Batch(_collated(form, rows, addresses, list), collated=True)


def _check(layouts: Sequence[Layout], arena: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
    """Refuse offsets outside the arena: the native copies do not check."""
    if places.ndim != 1 or not len(places) or len(layouts) not in (1, len(places)):
        raise BadArgument(
            f"{len(layouts)} layouts do not match offsets of shape {places.shape}; give at least "
            "one offset, and one layout for each or one for all"
        )
    ends = places + np.array([layout.size_bytes for layout in layouts])
    aligned = arena.size % LINE_BYTES == 0 and not (places % LINE_BYTES).any()
    if not aligned or places.min() < 0 or ends.max() > arena.size:
        raise OurError(
            f"offsets {places.min()} to {places.max()} with samples up to {ends.max()} are not all "
            f"inside the arena of {arena.size} bytes, or not all multiples of {LINE_BYTES}"
        )


def _collated(node: Node, rows: Rows, addresses: Iterator[NDArray[np.int64]], texts: type) -> Any:
    """Return the batch of one node; `texts` is the container for strings."""
    if isinstance(node, Leaf):
        where = next(addresses)
        if node.kind in ("str", "bytes"):
            data = rows.arena.data
            return texts(read_text(node.kind, data, address) for address in where.tolist())
        stacked = rows.take(node, where)
        # A list of k numbers in each sample is k columns, as if each number were a leaf.
        return rows.columns(stacked) if node.kind.startswith("numbers") else stacked
    # default_collate puts the strings of a dict into a list, and all others as zip() gives them.
    inner = list if node.kind in ("dict", "ordered dict") else tuple
    children = [_collated(child, rows, addresses, inner) for child in node.children]
    return children if node.kind == "tuple" else build(node, children)


@lru_cache(maxsize=4096)
def _stacks(node: Node, tensors: bool) -> bool:
    """Return whether samples of this form become one batch without the caller's collate."""
    if isinstance(node, Branch):
        stacking = ("tuple", "list", "dict", "ordered dict", "namedtuple")
        return node.kind in stacking and all(_stacks(child, tensors) for child in node.children)
    if node.kind in ("array", "scalar"):
        return not tensors or tensor_name_of(node.dtype) is not None
    if node.kind == "tensor":
        return tensors or node.dtype in SHARED_NAMES
    if node.kind == "complex":
        return not tensors
    return node.kind in ("bool", "int", "float", "str", "bytes") or node.kind.startswith("numbers")
