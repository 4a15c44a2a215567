"""A long list of texts as two arrays: a million paths are 50 MB and pickled in no time.

Texts are file names as the system has them: those that are no UTF-8 come back as they were.
"""

import os
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt


class Names:
    """Texts by number, which cannot be changed."""

    def __init__(self, blob: bytes, ends: npt.NDArray[np.int64]) -> None:
        """Take the texts one after the other, and where each ends."""
        self.blob = blob
        self.ends = ends

    @classmethod
    def of(cls, texts: Iterable[str | bytes]) -> "Names":
        """Put texts together."""
        encoded = [text if isinstance(text, bytes) else os.fsencode(text) for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(b"".join(encoded), np.cumsum(lengths))

    def encoded(self, number: int) -> bytes:
        """Return one text as bytes."""
        start = self.ends[number - 1] if number else 0
        return self.blob[start : self.ends[number]]

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        """Return one text."""
        return os.fsdecode(self.encoded(number))

    def __iter__(self) -> Iterator[str]:
        """Yield all texts."""
        start = 0
        for end in self.ends.tolist():
            yield os.fsdecode(self.blob[start:end])
            start = end
