"""Parquet files, any row at any time, only the columns asked for.

The smallest part of a Parquet file that can be read is a column of a row group, which has to be
decompressed as a whole. So decoded columns of row groups are kept, within `cache_bytes` in each
process; the least recently used leave first. If the columns asked for fit, each row group is
decoded once. If they do not, rows drawn at random cost a row group each: write smaller row groups
(100 images), raise `cache_bytes`, or write Arrow files, which are mapped as they are.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from joader.errors import BadData, NoData
from joader.storage.arrow_values import Taker, taker, type_name
from joader.storage.chunked import Chunked
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess
from joader.storage.places import paths_stamped, pieces_stamped, shown
from joader.storage.storage import Piece

CACHE_BYTES = 256 << 20


class ParquetFiles(Chunked):
    """The rows of Parquet files with the same columns, file after file."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Read the files' footers."""
        if not paths:
            raise NoData("the list of Parquet files is empty; give one or more")
        self.paths = [os.path.abspath(path) for path in paths]
        groups: list[tuple[int, int]] = []  # file, and number of the row group in it
        self._file_rows: list[int] = []
        lengths: list[int] = []
        schema: Any = None
        for number, path in enumerate(self.paths):
            file = open_parquet(path)
            if schema is not None and not file.schema_arrow.equals(schema):
                raise BadData(
                    f"{path} has other columns than {self.paths[0]}: {file.schema_arrow.names} and "
                    f"{schema.names}; open them as separate storages"
                )
            schema = file.schema_arrow
            for group in range(file.num_row_groups):
                groups.append((number, group))
                lengths.append(file.metadata.row_group(group).num_rows)
            self._file_rows.append(file.metadata.num_rows)
            file.close()
        self.set_chunks(lengths)
        if not self.length:
            raise NoData(f"{', '.join(paths[:3])} have no rows; give files with at least one row")
        self._groups = np.array(groups, np.int64)
        self.columns = {field.name: type_name(field.type) for field in schema}
        self.choose(columns, tuple(self.columns))
        self._decoded = PerProcess(partial(_Decoded, self.paths, cache_bytes))

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of a row group, decoding what is not kept."""
        file, group = self._groups[chunk].tolist()
        return self._decoded.get().takers(file, group, columns)

    def place(self) -> str:
        """Return the files."""
        return shown(self.paths)

    def identity(self) -> tuple[Any, ...]:
        """Return the digest of places, sizes and times of change."""
        return (paths_stamped(self.paths),)

    def pieces(self) -> list[Piece]:
        """Return the files."""
        return pieces_stamped(self.paths, self._file_rows)

    def close(self) -> None:
        """Close the files and forget what was decoded."""
        decoded = self._decoded.take()
        if decoded is not None:
            decoded.close()


class _Decoded:
    """Decoded columns of row groups, of one process."""

    def __init__(self, paths: Sequence[str], limit_bytes: int) -> None:
        self._paths = paths
        self._limit = limit_bytes
        self._files: dict[int, Any] = {}
        self._kept: OrderedDict[tuple[int, int, str], tuple[Taker, int]] = OrderedDict()
        self._used = 0
        # One decodes at a time: Arrow does it in threads of its own, and a second thread that wants
        # the same row group finds it decoded.
        self._lock = threading.Lock()

    def takers(self, file: int, group: int, columns: Sequence[str]) -> list[Taker]:
        with self._lock:
            missing = [name for name in columns if (file, group, name) not in self._kept]
            if missing:
                self._decode(file, group, missing)
            found = []
            for name in columns:
                self._kept.move_to_end((file, group, name))
                found.append(self._kept[file, group, name][0])
            self._shrink(len(columns))
            return found

    def _decode(self, file: int, group: int, columns: Sequence[str]) -> None:
        if file not in self._files:
            self._files[file] = open_parquet(self._paths[file])
        path = self._paths[file]
        try:
            table = self._files[file].read_row_group(group, columns=list(columns))
        except Exception as error:
            raise BadData(f"row group {group} of {path} cannot be read: {error}") from error
        for name in columns:
            array = table.column(name).combine_chunks()
            if hasattr(array, "chunks"):  # a column larger than one Arrow array can be
                array = needed("pyarrow", "Parquet", "parquet").concat_arrays(array.chunks)
            self._kept[file, group, name] = taker(array), array.nbytes
            self._used += array.nbytes

    def _shrink(self, in_use: int) -> None:
        while self._used > self._limit and len(self._kept) > in_use:
            self._used -= self._kept.popitem(last=False)[1][1]

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()
            self._kept.clear()
            self._used = 0


def open_parquet(path: str) -> Any:
    """Open a Parquet file, mapped into memory."""
    parquet = needed("pyarrow.parquet", "a Parquet file", "parquet")
    try:
        return parquet.ParquetFile(path, memory_map=True)
    except FileNotFoundError as error:
        raise NoData(f"{path} does not exist; give the path of a Parquet file") from error
    except Exception as error:
        raise BadData(f"{path} is not a Parquet file, or is damaged: {error}") from error
