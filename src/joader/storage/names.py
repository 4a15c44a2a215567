"""A long list of strings as two arrays: a million paths take 50 MB and pickle almost instantly.

The strings are file names as the system has them: those that are not UTF-8 come back unchanged.
"""

import os
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt


class Names:
    """Strings by number, immutable."""

    def __init__(self, blob: bytes, ends: npt.NDArray[np.int64]) -> None:
        """Take the strings one after the other, and where each ends."""
        self.blob = blob
        self.ends = ends

    @classmethod
    def of(cls, texts: Iterable[str | bytes]) -> "Names":
        """Join strings."""
        encoded = [text if isinstance(text, bytes) else os.fsencode(text) for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(b"".join(encoded), np.cumsum(lengths))

    def encoded(self, numbers: npt.NDArray[np.int64]) -> list[bytes]:
        """Return some strings as bytes."""
        if len(numbers) == 1:
            number = int(numbers[0])
            return [self.blob[self.ends[number - 1] if number else 0 : self.ends[number]]]
        lasts = self.ends[numbers].tolist()
        firsts = np.where(numbers > 0, self.ends[numbers - 1], 0).tolist()
        blob = self.blob
        return [blob[first:last] for first, last in zip(firsts, lasts, strict=True)]

    def take(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return some strings."""
        return list(map(os.fsdecode, self.encoded(numbers)))

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        """Yield all strings."""
        start = 0
        for end in self.ends.tolist():
            yield os.fsdecode(self.blob[start:end])
            start = end
