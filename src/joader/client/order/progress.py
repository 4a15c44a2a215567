"""Which positions of a pass were yielded: the client's own knowledge, and what a checkpoint keeps.

The client is the authority: the daemon's knowledge is a copy that a reconnect or a resume replaces.
"""

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.client.dataset.identity import Identity
from joader.errors import BadArgument

# Goes up when a state of this version could not be read by the one before.
STATE_VERSION = 1
_NUMBERS = {"version": 1, "length": 0, "epoch": 0, "key": 0, "seed": 0, "life": 0}  # at least
_TEXTS = ("fingerprint", "outline", "rows", "done", "order", "whom")
# Higher levels make a random bitmap smaller by a few percent and take 30 times as long.
_LEVEL = 1


class DrawnBy(NamedTuple):
    """Which daemon drew the latest rows, and for whom: what a stream has to know of a past."""

    life: int = 0  # of the daemon; 0: none did
    whom: str = ""  # the process, or the start of a job of several ranks


NOBODY = DrawnBy()


class Progress:
    """The positions of one pass that were yielded."""

    def __init__(self, length: int, epoch: int, key: int = 0, drawn_by: DrawnBy = NOBODY) -> None:
        """Begin a pass over `length` positions; its random numbers start from `key`.

        `drawn_by` is who drew the latest of it, or of the pass before.
        """
        self.length = length
        self.epoch = epoch
        self.key = key
        self.drawn_by = drawn_by
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

    def state(self, identity: Identity, seed: int, order: str) -> dict[str, Any]:
        """Return the state as small plain data: at most a bit per position, compressed, as text."""
        bitmap = zlib.compress(np.packbits(self._done).tobytes(), _LEVEL)
        return {
            "version": STATE_VERSION,
            **identity.state(),
            "epoch": self.epoch,
            "key": self.key,
            "done": base64.b85encode(bitmap).decode(),
            "seed": int(seed),
            "order": order,
            "life": self.drawn_by.life,
            "whom": self.drawn_by.whom,
        }


def restored(state: Any, identity: Identity) -> Progress:
    """Return the progress a state keeps; BadArgument, with what is wrong, if it cannot be."""
    _check(state)
    identity.check(state)
    drawn_by = DrawnBy(state.get("life", 0), state.get("whom", ""))
    progress = Progress(identity.length, state["epoch"], state["key"], drawn_by)
    progress.note(np.flatnonzero(_bits(state["done"], identity.length)))
    return progress


def _check(state: Any) -> None:
    """Raise BadArgument if this is not a state that this version can read."""
    if not isinstance(state, dict):
        raise BadArgument(f"{state!r} is not a state of a loader; give what state_dict() returned")
    version = state.get("version", STATE_VERSION)
    if type(version) is int and version > STATE_VERSION:
        raise BadArgument(
            f"the state has version {version} and this joader reads up to {STATE_VERSION}: it was "
            "made by a newer joader; install that one to go on from it"
        )
    # A state of the time before streams has no life: no daemon of now has drawn it.
    state = {"life": 0, "whom": "", **state}
    missing = [name for name in (*_NUMBERS, *_TEXTS) if name not in state]
    if missing:
        raise BadArgument(f"this is not a state of a loader: it lacks {', '.join(missing)}")
    for name, least in _NUMBERS.items():
        value = state[name]
        if type(value) is not int or not least <= value < (2**64 if name == "seed" else 2**63):
            raise BadArgument(f"{name} of the state is {value!r:.80}; it is an integer >= {least}")
    for name in _TEXTS:
        if type(state[name]) is not str:
            raise BadArgument(f"{name} of the state is {state[name]!r:.80}; it is text")


def _bits(text: str, length: int) -> NDArray[np.uint8]:
    """Return which positions were yielded."""
    size_bytes = -(-length // 8)
    try:
        # With a bound: a state that was tampered with must not unpack to gigabytes.
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b85decode(text), size_bytes + 1)
        whole = unpacker.eof
    except (ValueError, zlib.error) as error:
        raise BadArgument(
            f"done of the state is not the bitmap that was saved: {error}; it was cut or changed"
        ) from error
    if len(data) != size_bytes or not whole:
        raise BadArgument(
            f"done of the state is not the bitmap that was saved: {length} positions take "
            f"{size_bytes} bytes, it has {'more' if len(data) > size_bytes else len(data)}"
        )
    return np.unpackbits(np.frombuffer(data, np.uint8), count=length)
