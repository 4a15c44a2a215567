"""Files in folders of this machine, mounts included: listed, stamped, read whole or in part."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from joader.errors import NoData, ReadFailed
from joader.storage.in_flight import InFlight
from joader.storage.origins import note
from joader.storage.per_process import PerProcess

# Descriptors kept open for reads of parts; further files are opened for each read. Far below the
# usual limit of 1024 per process.
MAX_OPEN = 256
LOCAL_IN_FLIGHT = 16

Part: TypeAlias = tuple[str, int, int]  # name of a file, first byte, number of bytes
Stamp: TypeAlias = tuple[int, int]  # size, and time of change or a number for a store's tag
MISSING: Stamp = (0, -1)  # the stamp of a file that is listed but not there, like a dangling link


class LocalFiles:
    """Files below a root; names are relative to it, or absolute."""

    slow = False  # as far as is known
    # The first read of an index, and the most it grows to: a page, the unit of disks.
    least_bytes, most_bytes = 4096, 1 << 20

    def __init__(self, root: str, in_flight: int = LOCAL_IN_FLIGHT) -> None:
        """Access nothing yet."""
        self.root = os.path.abspath(root)
        self._reads = InFlight(in_flight)
        self._open = PerProcess(partial(_Descriptors, self.root))

    @property
    def where(self) -> str:
        """The root with all symbolic links resolved."""
        return os.path.realpath(self.root)

    def path(self, name: str) -> str:
        """Return the full path of a file."""
        return os.path.join(self.root, name)

    def read_whole(self, names: Sequence[str]) -> list[bytes]:
        """Return the content of files."""
        bodies = self._reads.map(self._whole, names)
        note(bodies, self.path, names)
        return bodies

    def read_unchanged(self, names: Sequence[str], stamps: Sequence[Stamp]) -> list[bytes]:
        """Return the content of files; raise ReadFailed if a size or time of change differs."""
        named = list(zip(names, stamps, strict=True))
        bodies = self._reads.map(lambda pair: self._whole(*pair), named)
        note(bodies, self.path, names)
        return bodies

    def read_parts(
        self, parts: Sequence[Part], stamps: Mapping[str, Stamp] | None = None
    ) -> list[bytes]:
        """Return parts of files; they are kept open, so `stamps` are ignored."""
        return self._reads.map(self._open.get().read, parts)

    def stamps(
        self, names: Sequence[str], *, missing_ok: bool = False
    ) -> list[tuple[int, str | int]]:
        """Return size and time of change of each file; `missing_ok`: MISSING if there is none."""
        prefix = os.path.join(self.root, "")
        paths = [name if name.startswith("/") else prefix + name for name in names]
        return self._reads.map(_stamp_or_missing if missing_ok else _stamp, paths)

    def close(self) -> None:
        """Close files that were kept open."""
        opened = self._open.take()
        if opened is not None:
            opened.close()
        self._reads.close()

    def _whole(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Return the content of a file; raise ReadFailed if it no longer has this stamp."""
        try:
            with open(self.path(name), "rb", buffering=0) as file:
                body = file.readall()
                stat = None if stamp is None else os.fstat(file.fileno())
        except OSError as error:
            raise _failed(self.path(name), error) from error
        if stat is not None and (stat.st_size, stat.st_mtime_ns) != stamp:
            raise changed(self.path(name))
        return body


class _Descriptors:
    """Open files, by name."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def read(self, part: Part) -> bytes:
        name, start, size = part
        try:
            file = self._files.get(name)
            body = self._opened(part) if file is None else os.pread(file, size, start)
        except OSError as error:
            raise _failed(os.path.join(self._root, name), error) from error
        if len(body) < size:  # one call gives at most 2 GiB
            rest = self.read((name, start + len(body), size - len(body))) if body else b""
            body += rest
        if len(body) != size:
            raise ReadFailed(
                f"{os.path.join(self._root, name)} has fewer than {size} bytes from byte {start} "
                "on: it was truncated or rewritten after it was opened; open the storage again"
            )
        return body

    def _opened(self, part: Part) -> bytes:
        """Open a file, read from it, and keep it open if there is room."""
        name, start, size = part
        file = os.open(os.path.join(self._root, name), os.O_RDONLY | os.O_CLOEXEC)
        with self._lock:
            keep = len(self._files) < MAX_OPEN and name not in self._files
            if keep:
                self._files[name] = file
        try:
            return os.pread(file, size, start)
        finally:
            if not keep:
                os.close(file)

    def close(self) -> None:
        with self._lock:
            files, self._files = self._files, {}
        for file in files.values():
            os.close(file)


def walk(folder: str) -> Iterator[str]:
    """Yield all files below a folder, sorted as torchvision's ImageFolder does; hidden ones too."""
    for place, _, names in sorted(os.walk(folder, followlinks=True)):
        for name in sorted(names):
            yield os.path.join(place, name)


def _stamp(path: str) -> tuple[int, str | int]:
    try:
        stat = os.stat(path)
    except OSError as error:
        raise NoData(
            f"{path} cannot be accessed: {error.strerror}; check that it exists"
        ) from error
    return stat.st_size, stat.st_mtime_ns


def _stamp_or_missing(path: str) -> tuple[int, str | int]:
    try:
        return _stamp(path)
    except NoData:
        return MISSING


def changed(path: str) -> ReadFailed:
    """Return the error for a file or object that is not the one that was listed."""
    return ReadFailed(
        f"{path} was changed after it was listed; list the files again (for a table: "
        "table.refresh()), and begin a new pass"
    )


def _failed(path: str, error: OSError) -> ReadFailed:
    return ReadFailed(
        f"{path} cannot be read: {error.strerror or error}; restore it, or leave it out "
        '(on_error="skip", or open the storage again)'
    )
