"""The rows that one job still has to read in its pass: a set that only shrinks.

Dense samples are kept as one bit each over [0, largest + 1); scattered ones as a sorted array of 4
bytes each plus one bit per position. Both answer the same calls; `needs_of` chooses. Single
samples go through a bytearray (60 ns; indexing a NumPy array costs twice that), arrays of samples
through a NumPy view of the same bytes.
Not here: which jobs there are (demand.py).
"""

from bisect import bisect_left
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from joader.errors import BadRows

SAMPLE_LIMIT = 2**32
# A bit per number is limit / 8 bytes, a sorted array 4 bytes per sample: both take the same at 32
# numbers per sample.
NUMBERS_PER_SAMPLE = 32
# Below this a bit set is at most 8 KiB, and always the faster of the two.
SMALL_LIMIT = 2**16

Samples: TypeAlias = npt.NDArray[np.integer[Any]]
Flags: TypeAlias = npt.NDArray[np.bool_]


class DenseNeeds:
    """A set of samples below a limit, one bit each."""

    __slots__ = ("_bits", "_limit", "_view", "count")

    def __init__(self, flags: Flags) -> None:
        """Hold every sample whose flag is true."""
        self._bits = bytearray(np.packbits(flags, bitorder="little").tobytes())
        self._view = np.frombuffer(self._bits, np.uint8)
        self._limit = len(flags)
        self.count = int(np.count_nonzero(flags))

    def has(self, sample: int) -> bool:
        """Return whether the sample is still needed."""
        return 0 <= sample < self._limit and bool(self._bits[sample >> 3] >> (sample & 7) & 1)

    def remove(self, sample: int) -> bool:
        """Take the sample out; return False if it was not in."""
        if 0 <= sample < self._limit:
            byte, bit = sample >> 3, 1 << (sample & 7)
            if self._bits[byte] & bit:
                self._bits[byte] ^= bit
                self.count -= 1
                return True
        return False

    def has_each(self, samples: Samples) -> Flags:
        """Return for each sample whether it is still needed."""
        inside = samples < self._limit
        if not inside.all():
            found = np.zeros(len(samples), np.bool_)
            found[inside] = self.has_each(samples[inside])
            return found
        bits: Samples = self._view[samples >> 3] >> (samples & 7).astype(np.uint8) & 1
        return bits.astype(np.bool_)

    def remove_each(self, samples: Samples) -> None:
        """Take out distinct samples, all of which are in."""
        bits = np.left_shift(1, samples & 7).astype(np.uint8)
        # `.at`, because several samples may lie in the same byte; plain indexing would lose all but
        # one of their bits.
        np.bitwise_xor.at(self._view, samples >> 3, bits)
        self.count -= len(samples)


class SparseNeeds:
    """A set of scattered samples: their numbers sorted, one bit per position."""

    __slots__ = ("_keys", "_left", "_numbers")

    def __init__(self, samples: Samples) -> None:
        """Hold these distinct samples, given in ascending order."""
        self._numbers = samples.astype(np.uint32, copy=False)
        self._keys = self._numbers.data  # bisect reads plain ints from it
        self._left = DenseNeeds(np.ones(len(samples), np.bool_))

    @property
    def count(self) -> int:
        """Samples still needed."""
        return self._left.count

    def has(self, sample: int) -> bool:
        """Return whether the sample is still needed."""
        position = bisect_left(self._keys, sample)
        return (
            position < len(self._keys)
            and self._keys[position] == sample
            and self._left.has(position)
        )

    def remove(self, sample: int) -> bool:
        """Take the sample out; return False if it was not in."""
        position = bisect_left(self._keys, sample)
        if position < len(self._keys) and self._keys[position] == sample:
            return self._left.remove(position)
        return False

    def has_each(self, samples: Samples) -> Flags:
        """Return for each sample whether it is still needed."""
        positions = np.searchsorted(self._numbers, samples)
        positions[positions == len(self._numbers)] = 0  # past the end: the comparison fails there
        found: Flags = self._numbers[positions] == samples
        return found & self._left.has_each(positions)

    def remove_each(self, samples: Samples) -> None:
        """Take out distinct samples, all of which are in."""
        self._left.remove_each(np.searchsorted(self._numbers, samples))


Needs: TypeAlias = DenseNeeds | SparseNeeds


def as_samples(samples: npt.ArrayLike) -> Samples:
    """Return samples as a 1-d integer array in [0, 2**32), or raise BadRows."""
    array = np.asarray(samples)
    if array.ndim != 1:
        raise BadRows(f"samples have shape {array.shape}; give a one-dimensional array of integers")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise BadRows(f"samples are of dtype {array.dtype}; give an array of integers")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= SAMPLE_LIMIT:
        raise BadRows(f"samples range from {low} to {high}; they must lie in [0, 2**32)")
    return array.astype(np.int64, copy=False)


def needs_of(samples: npt.ArrayLike) -> Needs:
    """Return these samples in the smaller of the two forms; raise BadRows if one is repeated."""
    array = as_samples(samples)
    limit = int(array.max()) + 1 if len(array) else 0
    if limit <= max(SMALL_LIMIT, NUMBERS_PER_SAMPLE * len(array)):
        flags = np.zeros(limit, np.bool_)
        flags[array] = True
        needs: Needs = DenseNeeds(flags)
        distinct = needs.count
    else:
        ordered = np.sort(array.astype(np.uint32))  # four times as fast as 64 bits
        distinct = 1 + int(np.count_nonzero(np.diff(ordered)))
        needs = SparseNeeds(ordered)
    if distinct != len(array):
        raise BadRows(
            f"{len(array) - distinct} of {len(array)} samples are repeated; give each one once"
        )
    return needs
