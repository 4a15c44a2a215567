"""Lets one process at a time alter a table, and removes what a killed one left behind.

The lock is the kernel's and ends with its holder. Lock files stay: removing one while another
process waits for it would let two in. A table's folder belongs to the holder of its lock, so every
file in it that no version names is a leftover.
"""

import fcntl
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joader.catalog.records import Records
from joader.errors import BadArgument, WriteFailed

log = logging.getLogger("joader")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


def checked_name(name: object) -> str:
    """Return the name of a table, if it is valid."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadArgument(
            f"{name!r} is not a name for a table; use up to 100 letters, digits, '_', '-' and '.', "
            "beginning with a letter, a digit or '_'"
        )
    return name


def table_folder(folder: Path, name: str) -> Path:
    """Return where a table's files are."""
    return folder / "tables" / name


@contextmanager
def writing(folder: Path, name: str) -> Iterator[Path]:
    """Lock a table, waiting for its holder; yield its folder, and tidy up at the end."""
    place = table_folder(folder, name)
    try:
        for part in (folder, folder / "locks", place.parent):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _locked(folder, name, wait=True)
        place.mkdir(mode=0o700, exist_ok=True)  # under the lock: another writer may tidy it away
    except OSError as error:
        raise WriteFailed(
            f"cannot create {place}: {error.strerror or error}; set JOADER_CATALOG to a folder "
            "that you can write to"
        ) from error
    try:
        yield place
        _tidy(place, Records(folder).files(name))
        _tidy_others(folder, name)
    finally:
        os.close(descriptor)


def _locked(folder: Path, name: str, *, wait: bool) -> int:
    """Return an open lock file; BlockingIOError if another process has it and we do not wait."""
    descriptor = os.open(folder / "locks" / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            log.warning("another process is altering the table %r; waiting until it is done", name)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _tidy(place: Path, needed: set[str]) -> None:
    """Remove what no version of a table needs; everything if the table does not exist."""
    for entry in list(os.scandir(place)):
        if entry.name not in needed:
            _remove(Path(entry.path))
    if not needed:
        _remove(place)


def _tidy_others(folder: Path, name: str) -> None:
    """Remove leftovers of killed writers for tables that neither exist nor are being made."""
    known = {*Records(folder).names(), name}
    for entry in list(os.scandir(folder / "tables")):
        if entry.name in known:
            continue
        try:
            descriptor = _locked(folder, entry.name, wait=False)
        except BlockingIOError:
            continue
        try:
            if not Records(folder).files(entry.name):  # made in the meantime?
                _remove(Path(entry.path))
        finally:
            os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
