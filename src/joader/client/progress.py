"""Which positions of a pass were yielded: the client's own knowledge, and what a checkpoint keeps.

The client is the authority: the daemon's knowledge is a copy that a reconnect or a resume replaces.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

STATE_VERSION = 1


class Progress:
    """The positions of one pass that were yielded."""

    def __init__(self, length: int, epoch: int, key: int = 0) -> None:
        """Begin a pass over `length` positions; its random numbers start from `key`."""
        self.length = length
        self.epoch = epoch
        self.key = key
        self._done = np.zeros(length, np.bool_)

    @property
    def count(self) -> int:
        """How many were yielded."""
        return int(np.count_nonzero(self._done))

    def note(self, positions: NDArray[np.int64]) -> None:
        """Note that these were yielded."""
        self._done[positions] = True

    def positions(self) -> NDArray[np.int64]:
        """Return what was yielded, ascending."""
        return np.flatnonzero(self._done)

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return the state as small plain data: at most a bit a position, compressed."""
        bitmap = zlib.compress(np.packbits(self._done).tobytes(), 9)
        return {
            "version": STATE_VERSION,
            "fingerprint": fingerprint,
            "length": self._done.size,
            "epoch": self.epoch,
            "key": self.key,
            "done": base64.b85encode(bitmap).decode(),
            "seed": seed,
            "order": order,
        }


def restored(state: dict[str, Any], fingerprint: str, length: int) -> Progress:
    """Return the progress a state keeps; BadArgument where it belongs to other data."""
    if not isinstance(state, dict):
        raise BadArgument(f"{state!r} is no state of a loader; give what state_dict() returned")
    missing = {"version", "fingerprint", "length", "epoch", "key", "done"} - set(state)
    if missing:
        raise BadArgument(f"this is no state of a loader: it lacks {', '.join(sorted(missing))}")
    if state["version"] != STATE_VERSION:
        raise BadArgument(
            f"the state has version {state['version']}, this joader reads {STATE_VERSION}"
        )
    if state["length"] != length:
        raise BadArgument(
            f"the state is of a dataset of {state['length']} positions, this one has {length}"
        )
    if state["fingerprint"] != fingerprint:
        raise BadArgument(
            "the state is of another dataset: its code or data have changed since; "
            "give both loaders the same key= if they are meant to be the same"
        )
    progress = Progress(length, state["epoch"], state["key"])
    packed = np.frombuffer(zlib.decompress(base64.b85decode(state["done"])), np.uint8)
    progress.note(np.flatnonzero(np.unpackbits(packed, count=length)))
    return progress
