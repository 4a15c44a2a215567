"""Random integers from the raw words of a bit generator.

Every random decision of this room is an integer comparison on these words, so equal seeds and equal
calls give equal draws on any machine. NumPy promises that the raw words of PCG64 never change; it
does not promise that of `Generator.integers` or `shuffle`, and a float comparison would round. All
results are exactly uniform: words that a modulus would favor are discarded and drawn again.
"""

from collections.abc import Callable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

WORD = 1 << 64
_BLOCK = 1 << 14  # words that fit into the nearest cache
_POOL = 4096  # words fetched at once: the call costs 2 us, a pop from a list 30 ns


class Bits:
    """A stream of random 64-bit words, seeded."""

    def __init__(self, purpose: str, *seed: int) -> None:
        """Start the stream that belongs to this seed and purpose.

        One seed serves several purposes (draws, evictions); their streams must not be the same.
        """
        # Hashed, since NumPy pads short seeds with zeros: (7,) and (7, 0) would be the same.
        digest = blake2b(repr((purpose, *map(int, seed))).encode(), digest_size=16).digest()
        self._raw = np.random.PCG64(int.from_bytes(digest, "big"))
        self._pool: list[int] = []

    def word(self) -> int:
        """Return the next word."""
        if not self._pool:
            self._pool = self._raw.random_raw(_POOL).tolist()
        return self._pool.pop()

    def below(self, limit: int) -> int:
        """Return an integer in [0, limit), limit <= 2**64, each equally likely."""
        word = self.word()
        # Words from the last, incomplete run of `limit` values would favor small results. The first
        # comparison is cheap and almost always false, so that the division is seldom needed.
        while word >= WORD - limit and word >= WORD - WORD % limit:
            word = self.word()
        return word % limit

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return an array of fresh words; words already in the pool keep their place."""
        return np.asarray(self._raw.random_raw(count), np.uint64)

    def distinct_below(self, limit: int, count: int) -> NDArray[np.int64]:
        """Return `count` distinct integers of [0, limit), each sequence equally likely."""
        if 2 * count >= limit:
            return self.permutation(limit)[:count]
        taken = np.empty(0, np.int64)
        while taken.size < count:
            # The first occurrences in a stream of independent draws are a sample without
            # replacement.
            fresh = self._many_below(limit, count - taken.size + 8)
            taken = _first_occurrences(np.concatenate([taken, fresh]))
        return taken[:count]

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Return 0 … count-1 in random order, each order equally likely."""
        while True:
            order = order_of(self.words(count))
            # Equal words would come in the order of their places, which is not random: draw again.
            if order is not None:
                return order.astype(np.int64)

    def _many_below(self, limit: int, count: int) -> NDArray[np.int64]:
        words = self.words(count)
        fair = words <= np.uint64(WORD - WORD % limit - 1)
        return (words[fair] % np.uint64(limit)).astype(np.int64)


def order_of(
    words: NDArray[np.uint64], further: Callable[[int], int] | None = None
) -> NDArray[np.uint32] | None:
    """Return the places of the words in ascending order.

    Equal words come in the order of a further word for each place, or None is returned. Sorted are
    the upper bits with the place in the lower ones: NumPy sorts plain words four times as fast as
    it finds the order of words, and twice as fast as it shuffles.
    """
    low = np.uint64((1 << max(words.size - 1, 0).bit_length()) - 1)
    keys = np.empty(words.size, np.uint64)
    order = np.empty(words.size, np.uint32)
    ties: list[NDArray[np.intp]] = []
    # Block by block: whole arrays in between would cost more in fresh memory than the sorting.
    blocks = [slice(at, min(at + _BLOCK, words.size)) for at in range(0, words.size, _BLOCK)]
    for block in blocks:
        keys[block] = words[block] & ~low
        keys[block] |= np.arange(block.start, block.stop, dtype=np.uint64)
    keys.sort()
    for block in blocks:
        order[block] = keys[block] & low
        here = keys[block.start : block.stop + 1]
        ties.append(np.flatnonzero((here[1:] ^ here[:-1]) <= low) + block.start)
    tied = np.concatenate(ties) if ties else np.empty(0, np.intp)
    return order if _settled(order, tied, words, further) else None


def _settled(
    order: NDArray[np.uint32],
    ties: NDArray[np.intp],
    words: NDArray[np.uint64],
    further: Callable[[int], int] | None,
) -> bool:
    """Sort each run of equal upper bits by all bits; return False if some words are equal."""
    if not ties.size:
        return True
    firsts = ties[np.diff(ties, prepend=-2) > 1]
    lasts = ties[np.diff(ties, append=order.size + 2) > 1] + 2
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        run = sorted((int(words[place]), place) for place in order[first:last].tolist())
        if len({word for word, _ in run}) < len(run):
            if further is None:
                return False
            run.sort(key=lambda one: (one[0], further(one[1])))
        order[first:last] = [place for _, place in run]
    return True


def _first_occurrences(values: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    repeats = order[1:][ordered[1:] == ordered[:-1]]
    return np.delete(values, repeats) if repeats.size else values
