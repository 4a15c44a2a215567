"""Where each member of a tar is: headers are read, content is skipped.

This has its own reader, since Python's `tarfile` makes an object of every member and takes 2.5
times as long. Supported: ustar, GNU long names, pax (path, size), sizes beyond 8 GiB. Refused:
compressed tars (their members cannot be read one by one) and sparse members.

The file is read in windows that grow if members are small and shrink to a page if they are large:
of a tar with large members only the headers are read.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from joader.errors import BadData
from joader.storage.places import Files

BLOCK = 512
Member: TypeAlias = tuple[bytes, int, int]  # name, first byte, size

_ZEROS = bytes(BLOCK)
_FILES = b"0\x007"
_NO_CONTENT = b"123456"  # links, devices, folders: nothing follows, regardless of their size field
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def members(files: Files, name: str, size: int) -> Iterator[Member]:
    """Yield the files of a tar of this size, in their order."""
    path = files.path(name)
    window = _Window(
        lambda start, length: files.read_parts([(name, start, length)])[0], size, files
    )
    at = 0
    long_name: bytes | None = None
    long_size: int | None = None
    while at < size:
        header = window.read(at, BLOCK)
        if header == _ZEROS:
            return
        if len(header) < BLOCK:
            raise _cut_off(path, at, size)
        if not _sound(header):
            raise _unreadable(path, header, at)
        kind = header[156]
        length = _number(header[124:136])
        if length is None:
            raise _unreadable(path, header, at)
        start = at + BLOCK
        if kind in _FILES:
            length = length if long_size is None else long_size
            if start + length > size:
                raise _cut_off(path, at, size)
            yield long_name or _name(header), start, length
            long_name = long_size = None
        elif kind in b"Lx":
            body = window.read(start, length)
            if len(body) < length:
                raise _cut_off(path, at, size)
            if kind == 76:  # L
                long_name = body.rstrip(b"\0")
            else:
                try:
                    long_name, long_size = _pax(body, long_name, long_size)
                except ValueError as error:
                    raise _bad_record(path, at, error) from error
        elif kind == 83:  # S
            raise _bad_record(path, at, "a sparse member")
        elif kind in _NO_CONTENT:
            length = 0
            long_name = long_size = None
        at = start + (length + BLOCK - 1) // BLOCK * BLOCK


class _Window:
    """The part of the file that is in memory."""

    def __init__(self, load: Callable[[int, int], bytes], size: int, files: Files) -> None:
        self._load = load
        self._size = size
        self._least, self._most = files.least_bytes, files.most_bytes
        self._length = files.least_bytes
        self._start = 0
        self._body = b""
        self._hits = 0

    def read(self, at: int, length: int) -> bytes:
        """Return bytes of the file, fewer at its end."""
        first = at - self._start
        if first < 0 or first + length > len(self._body):
            self._move(at, length)
            first = 0
        self._hits += 1
        return self._body[first : first + length]

    def _move(self, at: int, length: int) -> None:
        if self._hits > 3:
            self._length = min(self._length * 2, self._most)
        elif self._hits < 2:
            self._length = max(self._length // 2, self._least)
        self._hits = 0
        self._start = at
        self._body = self._load(at, min(max(length, self._length), self._size - at))


def _sound(header: bytes) -> bool:
    """Return whether a header's checksum is right: the sum of its bytes, with spaces for itself."""
    try:
        told = int(header[148:156].strip(b"\0 ") or b"0", 8)
    except ValueError:
        return False
    return told == sum(header) - sum(header[148:156]) + 256


def _number(field: bytes) -> int | None:
    """Read a size: octal, or binary if the first bit is set; None if it is neither."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:])
    digits = field.strip(b"\0 ") or b"0"
    try:
        return int(digits, 8) if digits.isdigit() else None
    except ValueError:  # 8 and 9
        return None


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    # GNU's old format has times in place of the prefix; its magic ends in two spaces.
    if header[257:263] == b"ustar\0" and header[345]:
        return header[345:500].partition(b"\0")[0] + b"/" + name
    return name


def _pax(body: bytes, name: bytes | None, size: int | None) -> tuple[bytes | None, int | None]:
    """Read name and size from records "length key=value\\n"; ValueError if they are malformed."""
    at = 0
    while at < len(body) and body[at : at + 1].isdigit():
        length = int(body[at : body.index(b" ", at)])
        if length < 1:
            raise ValueError("a record of no length")
        key, _, value = body[at : at + length].partition(b" ")[2].partition(b"=")
        if key == b"path":
            name = value[:-1]
        elif key == b"size":
            size = int(value)
            if size < 0:
                raise ValueError("a size below 0")
        elif key.startswith(b"GNU.sparse"):
            raise ValueError("a sparse member")
        at += length
    return name, size


def _bad_record(path: str, at: int, why: object) -> BadData:
    return BadData(
        f"{path} has a bad record at byte {at}: {why}; make it again with `tar cf`, without "
        "--sparse"
    )


def _cut_off(path: str, at: int, size: int) -> BadData:
    return BadData(
        f"{path} is truncated: the member at byte {at} goes beyond its end at byte {size}; copy or "
        "download it again"
    )


def _unreadable(path: str, header: bytes, at: int) -> BadData:
    for magic, name in _COMPRESSED.items():
        if at == 0 and header.startswith(magic):
            return BadData(
                f"{path} is compressed with {name}: its members cannot be read one by one; "
                "decompress it (images do not get smaller anyway)"
            )
    what = "is not a tar" if at == 0 else f"is damaged at byte {at}: there is no member header"
    return BadData(f"{path} {what}; make it again with `tar cf` or WebDataset's ShardWriter")
