"""Values without a layout of their own, pickled: the only file here that uses pickle.

Written by workers, which run the job's own code; loaded only by a client that allows it
(`allow_pickle=True`), after it has made sure that the other side is the same user. The daemon moves
the bytes and never loads them.
"""

import pickle
from typing import Any

from joader.errors import BadArgument, OurError
from joader.memory.classes import CannotTravel


def dump(value: object) -> bytes:
    """Return a value as bytes."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception as error:  # any code of the value's class may run here
        cls = type(value)
        raise CannotTravel(
            f"a sample holds a {cls.__module__}.{cls.__qualname__}, which cannot be handed to "
            f"another process: {error}; return arrays, tensors, numbers, text or containers of them"
        ) from error


def load(data: bytes, *, allow_pickle: bool) -> Any:
    """Return the value that `dump` was given."""
    if not allow_pickle:
        raise OurError(
            "a sample holds a pickled object, but this reader did not pass allow_pickle=True"
        )
    try:
        return pickle.loads(data)
    except Exception as error:
        raise BadArgument(
            f"a sample holds an object that cannot be rebuilt in this process: {error}; put its "
            "class into a module that every job can import"
        ) from error
