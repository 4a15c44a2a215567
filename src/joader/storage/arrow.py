"""Arrow files, mapped into memory: what Arrow, Feather and Hugging Face's `save_to_disk` write.

The rows lie in the file as they do in memory, so a value is a copy from the page cache, which all
processes share. Compressed files can be read too; each process decompresses them for itself.
A folder of a Hugging Face dataset is read without its library; its images come the right way up.
"""

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from joader.errors import BadArgument, BadData, NoData
from joader.storage.arrow_values import Taker, taker, type_name
from joader.storage.chunked import Chunked
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess
from joader.storage.places import paths_stamped, pieces_stamped, shown
from joader.storage.storage import Piece
from joader.storage.upright import saved_photo_columns, upright_taker


class ArrowFiles(Chunked):
    """The rows of Arrow files with the same columns, file after file."""

    def __init__(self, paths: Sequence[str], *, columns: Sequence[str] | None = None) -> None:
        """Look at the files' batches."""
        if not paths:
            raise NoData("the list of Arrow files is empty; give one or more")
        self.paths = [os.path.abspath(path) for path in paths]
        self._batches = PerProcess(partial(Batches, partial(_mapped, self.paths)))
        batches = self._batches.get().batches
        self.set_chunks([len(batch) for batch in batches])
        if not self.length:
            raise NoData(f"{', '.join(paths[:3])} have no rows; give files with at least one row")
        self.columns = {field.name: type_name(field.type) for field in batches[0].schema}
        self.choose(columns, tuple(self.columns))

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of a batch."""
        return self._batches.get().takers(chunk, columns)

    def place(self) -> str:
        """Return the files."""
        return shown(self.paths)

    def identity(self) -> tuple[Any, ...]:
        """Return the digest of places, sizes and times of change."""
        return (paths_stamped(self.paths),)

    def pieces(self) -> list[Piece]:
        """Return the files."""
        lengths = [sum(map(len, _opened(path))) for path in self.paths]
        return pieces_stamped(self.paths, lengths)

    def close(self) -> None:
        """Unmap the files."""
        self._batches.take()


class Batches:
    """Record batches of one process, and the takers of values from their columns."""

    def __init__(self, load: Any, photos: frozenset[str] | None = None) -> None:
        """Call `load` for the batches; `photos`: columns to turn (None: as the schema says)."""
        self.batches: list[Any] = load()
        if photos is None:
            photos = saved_photo_columns(self.batches[0].schema) if self.batches else frozenset()
        self._photos = photos
        self._takers: dict[tuple[int, str], Taker] = {}

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of these columns of a batch."""
        found = []
        for name in columns:
            take = self._takers.get((chunk, name))
            if take is None:
                take = taker(self.batches[chunk].column(name))
                take = upright_taker(take) if name in self._photos else take
                self._takers[chunk, name] = take
            found.append(take)
        return found


def saved_dataset(folder: str) -> list[str]:
    """Return the Arrow files of a Hugging Face dataset that was saved to a folder."""
    if os.path.exists(os.path.join(folder, "dataset_dict.json")):
        with open(os.path.join(folder, "dataset_dict.json")) as file:
            splits = json.load(file).get("splits", [])
        raise BadArgument(
            f"{folder} holds several datasets; open one of them: "
            f"{', '.join(os.path.join(folder, split) for split in splits)}"
        )
    try:
        with open(os.path.join(folder, "state.json")) as file:
            names = [one["filename"] for one in json.load(file)["_data_files"]]
    except (OSError, ValueError, KeyError) as error:
        raise BadData(
            f"{folder} is not what a Hugging Face dataset's save_to_disk writes: {error}"
        ) from error
    return [os.path.join(folder, name) for name in names]


def _mapped(paths: Sequence[str]) -> list[Any]:
    """Return the batches of files, which lie in memory maps."""
    batches: list[Any] = []
    for path in paths:
        for batch in _opened(path):
            if batches and not batch.schema.equals(batches[0].schema):
                raise BadData(
                    f"{path} has other columns than {paths[0]}: {batch.schema.names} and "
                    f"{batches[0].schema.names}; open them as separate storages"
                )
            if len(batch):
                batches.append(batch)
    return batches


def _opened(path: str) -> list[Any]:
    arrow = needed("pyarrow", "an Arrow file", "parquet")
    try:
        source = arrow.memory_map(path)
        if source.read_at(6, 0) == b"ARROW1":
            reader = arrow.ipc.open_file(source)
            return [reader.get_batch(number) for number in range(reader.num_record_batches)]
        return list(arrow.ipc.open_stream(source))
    except FileNotFoundError as error:
        raise NoData(f"{path} does not exist; give the path of an Arrow file") from error
    except Exception as error:
        raise BadData(f"{path} is not an Arrow file, or is damaged: {error}") from error
