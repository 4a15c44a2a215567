"""One leaf of many samples in one native call: the arena seen as overlapping rows.

A row starts at every 64 bytes of the arena (for small leaves: at every 8 or 16) and is as long as
the leaf. Since slots and their leaves start at such multiples, the leaf of any slot is a row, and
`torch.index_select(out=)` copies any of them as fast as memcpy, without the GIL. A loop over
samples that releases the GIL each time is 18 to 100 times slower if another Python thread is busy.

NumPy has no such call for overlapping rows: `np.take` would first copy them all, the arena many
times over. It is used for single numbers and small leaves, as lines of 64 bytes. Others are copied
one by one in a loop that keeps the GIL: 1.4 times as fast at 16 KB, 1.7 to 2.3 times at 64 to
200 KB.
Invariant: addresses were checked by the caller (gather.py); `mode="clip"` is there for speed.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.memory.dtypes import dtype_of, tensor_name_of
from joader.memory.extras import needed
from joader.memory.layout import LINE_BYTES, Leaf, alignment

# Called with a number of bytes, returns a one-dimensional uint8 array or CPU tensor of that size:
# the `lend` of a Ring, or torch's own allocator for pinned memory. Called once per leaf, so that a
# user who keeps the labels of every batch does not keep its images alive.
Allocate = Callable[[int], Any]

# From this size on a loop over memoryviews is at least as fast as `np.take` of lines.
LOOP_BYTES = 1024

# Above this number of elements torch copies with all its threads (its GRAIN_SIZE). If the cores are
# busy, as they are when workers prepare, its threads wait for each other: 64 samples of 196 kB took
# 31 ms with two threads on two busy cores, and 1 ms with one; 64 of 4 kB took 5 ms, and 0.03 as
# words.
MOST_FOR_TORCH = 1 << 15

# Python's numbers as NumPy's and torch's.
_NUMBERS = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}


class Rows(Protocol):
    """The leaves of an arena, taken by address."""

    arena: NDArray[np.uint8]

    def take(self, leaf: Leaf, addresses: NDArray[np.int64]) -> Any:
        """Copy the leaf at each address into one array or tensor with a leading dimension."""
        ...

    def columns(self, stacked: Any) -> list[Any]:
        """Return the columns of a stacked row of numbers, each contiguous."""
        ...


class ArrayRows:
    """Rows taken by NumPy."""

    def __init__(self, arena: NDArray[np.uint8], allocate: Allocate | None) -> None:
        self.arena = arena
        self._allocate = allocate or _new_array

    def take(self, leaf: Leaf, addresses: NDArray[np.int64]) -> NDArray[Any]:
        """Copy the leaf at each address into one array."""
        size, count = leaf.size_bytes, len(addresses)
        out = np.asarray(self._allocate(size * count))
        if size:
            self.copy(addresses, size, out)
        name = leaf.dtype or _NUMBERS[leaf.kind]
        return out.view(dtype_of(name)).reshape(count, *leaf.shape)

    def copy(self, addresses: NDArray[np.int64], size: int, out: NDArray[np.uint8]) -> None:
        """Copy this many bytes from each address, one after the other."""
        unit = size if size in (1, 2, 4, 8) else LINE_BYTES
        if size % unit == 0 and size < LOOP_BYTES:
            items, room = self.arena.view(f"V{unit}"), out.view(f"V{unit}")
            where = (addresses // unit)[:, None] + np.arange(size // unit)
            np.take(items, where, mode="clip", out=room.reshape(where.shape))
            return
        source, target = self.arena.data, out.data
        for place, address in enumerate(addresses.tolist()):
            target[place * size : (place + 1) * size] = source[address : address + size]

    def columns(self, stacked: NDArray[Any]) -> list[Any]:
        """Return the columns of a stacked row of numbers."""
        return list(np.ascontiguousarray(stacked.T))


class TensorRows:
    """Rows taken by torch."""

    def __init__(self, arena: NDArray[np.uint8], allocate: Allocate | None) -> None:
        self._torch = torch = needed("torch", "torch")
        self.arena = arena
        # torch warns about a read-only array, since its tensors are always writable. This one is
        # never written to and never leaves this object.
        self._source = torch.from_numpy(np.asarray(_Unlocked(arena)))
        self._allocate = allocate or self._new_tensor

    def take(self, leaf: Leaf, addresses: NDArray[np.int64]) -> Any:
        """Copy the leaf at each address into one tensor."""
        size, count, torch = leaf.size_bytes, len(addresses), self._torch
        name = leaf.dtype if leaf.kind == "tensor" else _NUMBERS.get(leaf.kind)
        dtype = getattr(torch, name or tensor_name_of(leaf.dtype) or "")
        if not size:
            return torch.empty((count, *leaf.shape), dtype=dtype, device="cpu")
        out = self._allocate(size * count)
        if isinstance(out, np.ndarray):
            out = torch.from_numpy(out)
        self._copy(addresses, size, out)
        return out.view(dtype).view(count, *leaf.shape)

    def _copy(self, addresses: NDArray[np.int64], size: int, out: Any) -> None:
        torch = self._torch
        # The widest word that the leaf is made of: there are fewer of them.
        word = min(size & -size, 8)
        if size // word * len(addresses) > MOST_FOR_TORCH:
            ArrayRows(self.arena, None).copy(addresses, size, out.numpy())
            return
        kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[word]
        source, out = self._source.view(kind), out.view(kind)
        unit = word
        if size > word:
            unit, words = alignment(size), size // word
            count = (self.arena.size - size) // unit + 1
            source = source.as_strided((count, words), (unit // word, 1))
            out = out.view(-1, words)
        torch.index_select(source, 0, torch.from_numpy(addresses // unit), out=out)

    def columns(self, stacked: Any) -> list[Any]:
        """Return the columns of a stacked row of numbers."""
        return list(stacked.t().clone(memory_format=self._torch.contiguous_format).unbind(0))

    def _new_tensor(self, size_bytes: int) -> Any:
        return self._torch.empty(size_bytes, dtype=self._torch.uint8, device="cpu")


class _Unlocked:
    """The bytes of an array, without the flag that they are read-only."""

    def __init__(self, array: NDArray[np.uint8]) -> None:
        self._array = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.ctypes.data, False),
        }


def _new_array(size_bytes: int) -> NDArray[np.uint8]:
    return np.empty(size_bytes, np.uint8)
