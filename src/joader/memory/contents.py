"""The bytes of a slot that belong to the sample: its leaves, without the gaps between them.

Gaps, and the unused room after a text, are never written, so they hold bytes of earlier samples. So
samples are compared by this, never by all bytes of their slots.
"""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from joader.memory.layout import LENGTH_BYTES, TEXTS, Layout


def contents(layout: Layout, slot: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of each leaf, in order."""
    for leaf, start, end in layout.spans:
        if leaf.kind in TEXTS:
            length = int.from_bytes(slot[start : start + LENGTH_BYTES].tobytes(), "little")
            end = min(end, start + LENGTH_BYTES + length)
        yield slot[start:end]


def digest(layout: bytes, slot: NDArray[np.uint8]) -> bytes:
    """Return 16 bytes that are equal if and only if layout and contents are."""
    found = blake2b(layout, digest_size=16)
    for part in contents(Layout.from_bytes(layout), slot):
        found.update(part.data)
    return found.digest()
