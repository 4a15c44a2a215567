"""What all messages are made of: numbers within bounds, arrays, text."""

from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

PROTOCOL = 15

Job = int
Array = NDArray[np.int64]
# What all ranks of a job read at a time, how many of the last positions fill it up, and the life of
# the daemon that has drawn it; 0: of the sender.
PlannedStep = tuple[Array, int, int]
# Bounds of what a peer may send at all; the engine checks what makes sense.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Word = Annotated[int, msgspec.Meta(ge=0)]  # msgpack ends at 2**64 - 1
Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]
Naturals = tuple[Natural, ...]
Integers = tuple[int, ...]

# The job of a message from a client: the daemon knows the sender, and fills it in.
MY_JOB = 0
NONE = np.empty(0, np.int64)
NONE.flags.writeable = False


class Message(msgspec.Struct, frozen=True, tag=True):
    """A value that is never changed."""


def as_bytes(value: Any) -> bytes:
    """Return the bytes of an array of integers, as they are sent."""
    if isinstance(value, np.ndarray):
        return np.asarray(value, "<i8").tobytes()
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


def from_bytes(kind: type, data: Any) -> Array:
    """Return the array again; it is read-only."""
    if not isinstance(data, bytes | bytearray | memoryview) or len(data) % 8:
        raise ValueError("not an array of 8-byte integers")
    return np.frombuffer(data, "<i8").astype(np.int64, copy=False)
