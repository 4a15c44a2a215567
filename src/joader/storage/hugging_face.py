"""A Hugging Face dataset that is open in this process: its Arrow table, read without decoding.

Rows are those of the dataset: what `select`, `shuffle` and `filter` left, in their order. Images
come as encoded bytes. A folder written by `save_to_disk` is opened without this (arrow.py).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from joader.errors import BadArgument, NoData
from joader.storage.arrow import Batches
from joader.storage.arrow_values import Taker, type_name
from joader.storage.chunked import Chunked
from joader.storage.per_process import PerProcess
from joader.storage.places import paths_stamped
from joader.storage.storage import Rows, Values


class HuggingFace(Chunked):
    """The rows of a `datasets.Dataset`."""

    def __init__(self, dataset: Any, *, columns: Sequence[str] | None = None) -> None:
        """Look at the dataset's table."""
        if dataset.format["type"] is not None:
            raise BadArgument(
                f"the dataset has the format {dataset.format['type']!r}, which a storage would not "
                "apply: it reads what is stored; give dataset.with_format(None), or open it with "
                "kind='dataset' to get what its code makes of a row"
            )
        if not len(dataset):
            raise NoData("the dataset has no rows")
        self.dataset = dataset
        self._batches = PerProcess(partial(Batches, partial(_batches_of, dataset)))
        self.set_chunks([len(batch) for batch in self._batches.get().batches])
        chosen = dataset._indices  # None: all rows, in their order
        self._chosen = None if chosen is None else chosen.column(0).to_numpy().astype(np.int64)
        self.length = len(dataset)
        schema = dataset.data.table.schema
        self.columns = {field.name: type_name(field.type) for field in schema}
        self.choose(columns, tuple(self.columns))

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read the rows of the table that these rows of the dataset are."""
        return super().fetch(rows if self._chosen is None else self._chosen[rows], columns)

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of a batch."""
        return self._batches.get().takers(chunk, columns)

    def identity(self) -> tuple[Any, ...]:
        """Return the dataset's own fingerprint, and the stamps of its files."""
        paths = [file["filename"] for file in self.dataset.cache_files]
        return self.dataset._fingerprint, paths_stamped(paths)

    def close(self) -> None:
        """Forget the batches; the dataset stays open."""
        self._batches.take()


def _batches_of(dataset: Any) -> list[Any]:
    return [batch for batch in dataset.data.table.to_batches() if len(batch)]
