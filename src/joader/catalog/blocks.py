"""Columns of a segment's rows in an Arrow file, which is mapped into memory as it is.

Files are written once, under a name that no file had before, and are on disk before anything refers
to them. Nothing is decoded when one is opened, and all processes share its pages.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from joader.errors import BadData, NoData, WriteFailed
from joader.storage.packages import needed

ENDING = ".arrow"


def arrow() -> Any:
    """Return pyarrow, or say how to get it."""
    return needed("pyarrow", "a table of the catalog", "parquet")


def write_block(folder: Path, columns: Any, name: str = "") -> str:
    """Write an Arrow table to a file of its own, through to the disk; return the file's name."""
    name = name or f"{uuid.uuid4().hex}{ENDING}"
    whole = columns.combine_chunks()
    path = folder / name
    try:
        with open(path, "wb") as file:
            with arrow().ipc.new_file(file, whole.schema) as writer:
                writer.write_table(whole)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(folder)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise WriteFailed(
            f"cannot write {path}: {error.strerror or error}; make sure that there is room, or set "
            "JOADER_CATALOG to another folder"
        ) from error
    return name


def read_block(path: Path) -> Any:
    """Return the Arrow table in a file, mapped into memory."""
    pa = arrow()
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except FileNotFoundError as error:
        raise NoData(f"{path} does not exist anymore: its table was dropped") from error
    except Exception as error:
        raise BadData(f"{path} is damaged: {error}; create the table again") from error


def sync_folder(folder: Path) -> None:
    """Write the names in a folder through to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
