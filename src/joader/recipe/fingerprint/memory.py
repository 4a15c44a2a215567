"""What was digested at the last look, so that the next look at the same data is quick.

Two ways to know that something large is unchanged:

- *Elements that cannot change* (numbers, strings, tuples of such): if every element is the very
  same object, in the same order, the digest of the container is the same. The elements are held
  here, so no other object can get the address of one.
- *Bytes* of arrays and tensors: if their checksum is the same (checksum.py).

Everything else is digested again at each look: a dict per sample may have changed inside. Neither
way changes a result, only how long it takes. What a look did not meet is forgotten after it, so a
memory serves one object and holds no data that the object has released.
"""

from collections.abc import Callable, Collection
from operator import is_
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.recipe.fingerprint.checksum import checksum

# Below these, digesting takes less than a millisecond.
_MIN_ELEMENTS = 1024
_MIN_BYTES = 2**16

_Key: TypeAlias = tuple[str, int, int]
_Entry: TypeAlias = tuple[list[Any], Any]  # the elements, and what was found for them


class Memory:
    """What is known of one object's large contents from the last look at it."""

    def __init__(self) -> None:
        self._known: dict[_Key, list[_Entry]] = {}
        self._known_bytes: dict[tuple[bytes, int], bytes] = {}
        self._met: dict[_Key, list[_Entry]] = {}
        self._met_bytes: dict[tuple[bytes, int], bytes] = {}

    def recall(self, what: str, elements: Collection[Any]) -> Any:
        """Return what was kept for exactly these objects in this order; None if nothing was."""
        if len(elements) < _MIN_ELEMENTS:
            return None
        key = _key(what, elements)
        met = self._met.setdefault(key, [])
        for entry in [*met, *self._known.get(key, [])]:
            kept, found = entry
            if all(map(is_, kept, elements)):
                if not any(entry is one for one in met):
                    met.append(entry)
                return found
        return None

    def keep(self, what: str, elements: list[Any], found: Any) -> None:
        """Keep what was found for these objects, none of which can change."""
        if len(elements) >= _MIN_ELEMENTS:
            self._met.setdefault(_key(what, elements), []).append((elements, found))

    def bytes_digest(
        self, raw: NDArray[np.uint8], digest: Callable[[NDArray[np.uint8]], bytes]
    ) -> bytes:
        """Return the digest of bytes, from the look before if their checksum is still the same."""
        if raw.size < _MIN_BYTES:
            return digest(raw)
        key = checksum(raw), raw.size
        found = self._met_bytes.get(key) or self._known_bytes.get(key) or digest(raw)
        self._met_bytes[key] = found
        return found

    def end_look(self) -> None:
        """Forget what was not met since the last look ended."""
        self._known, self._met = self._met, {}
        self._known_bytes, self._met_bytes = self._met_bytes, {}


def _key(what: str, elements: Collection[Any]) -> _Key:
    return what, len(elements), id(next(iter(elements)))
