"""Columns that never travel: the job itself puts them beside the samples from the daemon.

Labels, paths and numbers are at hand in the job by row. So jobs that differ in them, or in the
order of columns, share every preparation of what is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_api

if TYPE_CHECKING:
    from joader.storage import FileList, Storage, Values
    from joader.storage.concatenation import Concatenation

Rows = NDArray[np.int64]


class Joining:
    """Puts columns that are at hand beside those of samples."""

    def __init__(
        self,
        base: "Storage",
        named: "Storage",
        columns: Sequence[str],
        values: "Callable[[Rows, str], Values]",
        together: type[tuple[Any, ...]] | type[list[Any]],
    ) -> None:
        """Read `base` in the workers and add what is missing of `columns` from `values`.

        `named` is what the dataset is known by; `together` is what a batch of columns is.
        """
        self.base, self.named = base, named
        self._columns, self._stored = columns, base.sample_columns
        self._values, self._together = values, together

    def batch(self, data: Any, rows: Rows, as_numpy: bool) -> Any:
        """Return a batch with all columns, of one with the stored columns."""
        stored = self._by_name(data)
        return self._together(
            stored[name] if name in stored else self._collated(rows, name, as_numpy)
            for name in self._columns
        )

    def samples(self, samples: Sequence[Any], rows: Rows) -> list[tuple[Any, ...]]:
        """Return samples with all columns, of some with the stored columns."""
        kept = {
            name: self._values(rows, name) for name in self._columns if name not in self._stored
        }
        found = []
        for at, sample in enumerate(samples):
            stored = self._by_name(sample)
            found.append(
                tuple(stored[name] if name in stored else kept[name][at] for name in self._columns)
            )
        return found

    def _by_name(self, data: Any) -> Mapping[str, Any]:
        parts = [data] if len(self._stored) == 1 else data
        return dict(zip(self._stored, parts, strict=True))

    def _collated(self, rows: Rows, name: str, as_numpy: bool) -> Any:
        """Return a column as torch's collate would: numbers as a tensor, texts as a tuple."""
        values = self._values(rows, name)
        if not isinstance(values, np.ndarray):
            return tuple(values)
        torch = None if as_numpy else torch_api.loaded()
        return values if torch is None else torch.from_numpy(values)


def beside_files(files: "FileList | Concatenation") -> Joining | None:
    """Return what puts labels and paths beside the content of files, if samples have both."""
    columns = files.sample_columns
    if columns == ("image",) or columns.count("image") != 1:
        return None
    stored = files.narrowed(["image"])
    return Joining(stored, files, columns, files.at_hand, list)
