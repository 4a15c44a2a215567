"""A worker's own memory for rows that are prepared whole, between their two parts.

The shared part is written there as it would be to a slot, so that the job's own part gets what it
would get from one: what it may edit in place, it does not share.
"""

import numpy as np
from numpy.typing import NDArray

from joader.memory import Parcel

_LINE_BYTES = 64  # a sample starts at a multiple of this, as in a slot


class Scratch:
    """Room for one sample, as large as the largest so far."""

    def __init__(self) -> None:
        """Start without any."""
        self._room: NDArray[np.uint8] | None = None

    @property
    def room(self) -> NDArray[np.uint8] | None:
        """Where the next sample may be made."""
        return self._room

    def put(self, sample: Parcel) -> NDArray[np.uint8]:
        """Write a sample, which may lie here already, and return where it is."""
        size = max(1, sample.layout.size_bytes)
        if self._room is None or self._room.size < size:
            memory = np.empty(size + _LINE_BYTES, np.uint8)
            start = -memory.ctypes.data % _LINE_BYTES
            self._room = memory[start : start + size]
        sample.write(self._room)
        return self._room
