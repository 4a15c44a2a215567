"""Objects of a store behind a network, through obstore: s3, gs, az, http.

The settings and the environment variables of the stores (AWS_..., GOOGLE_..., AZURE_...) are
captured when the storage is opened and travel with it, since a process that reopens it may have
others. They are not part of the fingerprint.

obstore runs on threads that a fork does not copy: a child of a process that has read would wait
forever. So such a child reads through a helper process (remote_reader.py). Processes that were
started fresh (spawn), or forked before anything was read, are not affected.

Requests made when a storage is opened or fingerprinted (lists, sizes, tags) go through a helper
from the start, so that obstore has not run in a process whose children will read: a request through
a helper costs a millisecond of CPU time, a direct one a third of that.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from joader.errors import BadArgument, NoData, ReadFailed
from joader.storage.in_flight import InFlight
from joader.storage.local_files import MISSING, Part, Stamp, changed
from joader.storage.origins import note
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess
from joader.storage.remote_reader import RemoteReader

SCHEMES = ("s3://", "s3a://", "gs://", "az://", "abfs://", "abfss://", "http://", "https://")
REMOTE_IN_FLIGHT = 64
_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_")
_used_by: set[int] = set()  # the process in which obstore has started its threads
_reader: PerProcess[RemoteReader] = PerProcess(RemoteReader)


class RemoteFiles:
    """Objects below a URL; names are relative to it."""

    slow = True
    # A request costs some 20 ms regardless of its size, about as long as a megabyte takes.
    least_bytes, most_bytes = 1 << 18, 1 << 23

    def __init__(
        self,
        url: str,
        in_flight: int = REMOTE_IN_FLIGHT,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Access nothing yet; `settings` are what `obstore.store.from_url` takes."""
        _obstore()
        self.where = url.rstrip("/")
        self._settings = dict(settings or {})
        if url.startswith("http://") or str(self._settings.get("endpoint")).startswith("http://"):
            options = {"allow_http": True, **self._settings.get("client_options", {})}
            self._settings["client_options"] = options
        self._variables = {
            name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)
        }
        self._reads = InFlight(in_flight, at_once=True)
        self._store = PerProcess(self._opened)

    def path(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self.where}/{name}" if name else self.where

    def listing(self) -> list[tuple[str, int]]:
        """Return name and size of every object, in the order of names."""
        if self.where.startswith("http"):
            raise BadArgument(
                f"{self.where} is on a web server, which cannot list its files; give the list of "
                "URLs, or the URL of a .tar"
            )
        found: list[tuple[str, int]] = self._ask("_listing", before_forks=True)
        return found

    def read_whole(self, names: Sequence[str]) -> list[bytes]:
        """Return the content of objects."""
        bodies: list[bytes] = self._ask("_map", "_whole", names)
        note(bodies, self.path, names)
        return bodies

    def read_unchanged(self, names: Sequence[str], stamps: Sequence[Stamp]) -> list[bytes]:
        """Return the content of objects; raise ReadFailed if a size or tag differs."""
        named = list(zip(names, stamps, strict=True))
        bodies: list[bytes] = self._ask("_map", "_whole_unchanged", named)
        note(bodies, self.path, names)
        return bodies

    def read_parts(
        self, parts: Sequence[Part], stamps: Mapping[str, Stamp] | None = None
    ) -> list[bytes]:
        """Return parts of objects: range requests, many at a time.

        Raise ReadFailed if an object has another size or tag than in `stamps`.
        """
        stamped = [(part, None if stamps is None else stamps[part[0]]) for part in parts]
        bodies: list[bytes] = self._ask("_map", "_part", stamped)
        return bodies

    def stamps(
        self, names: Sequence[str], *, missing_ok: bool = False
    ) -> list[tuple[int, str | int]]:
        """Return size and tag (or time of change) of each object; `missing_ok`: MISSING if none."""
        method = "_stamp_or_missing" if missing_ok else "_stamp"
        found: list[tuple[int, str | int]] = self._ask("_map", method, names, before_forks=True)
        return found

    def close(self) -> None:
        """Forget the store and its connections."""
        self._store.take()
        self._reads.close()

    def _ask(self, method: str, *arguments: Any, before_forks: bool = False) -> Any:
        """Run a method here, or in a helper if obstore cannot run in this process.

        `before_forks`: use the helper anyway, so that obstore can still run in later forks.
        """
        if os.getpid() not in _used_by and (_used_by or before_forks):
            reader = _reader.get()
            if reader.ended:
                _reader.take()
                reader = _reader.get()
            return reader.call(self, "_ask", method, *arguments)
        _used_by.add(os.getpid())
        return getattr(self, method)(*arguments)

    def _map(self, method: str, items: Sequence[Any]) -> list[Any]:
        self._store.get()  # opened once, and its error raised here, not in a thread
        return self._reads.map(getattr(self, method), items)

    def _listing(self) -> list[tuple[str, int]]:
        try:
            chunks = _obstore().list(self._store.get(), chunk_size=1000)
            found = [(one["path"], int(one["size"])) for chunk in chunks for one in chunk]
        except BadArgument:
            raise
        except Exception as error:
            raise self._failed("", error) from error
        return sorted(pair for pair in found if not pair[0].endswith("/"))

    def _whole(self, name: str, stamp: Stamp | None = None) -> bytes:
        try:
            found = _obstore().get(self._store.get(), name)
            self._check(name, found, stamp)
            return bytes(found.bytes())
        except ReadFailed:
            raise
        except Exception as error:
            raise self._failed(name, error) from error

    def _whole_unchanged(self, named: tuple[str, Stamp]) -> bytes:
        return self._whole(*named)

    def _part(self, stamped: tuple[Part, Stamp | None]) -> bytes:
        (name, start, size), stamp = stamped
        if not size:
            return b""
        try:
            options = {"range": (start, start + size)}
            found = _obstore().get(self._store.get(), name, options=options)
            self._check(name, found, stamp)
            body = bytes(found.bytes())
        except ReadFailed:
            raise
        except Exception as error:
            raise self._failed(name, error) from error
        if len(body) != size:
            raise ReadFailed(
                f"{self.path(name)} returned {len(body)} of {size} bytes from byte {start} on: it "
                "was rewritten after it was opened; open the storage again"
            )
        return body

    def _stamp(self, name: str) -> tuple[int, str | int]:
        try:
            meta = _obstore().head(self._store.get(), name)
        except Exception as error:
            raise self._failed(name, error) from error
        return _stamp_of(meta)

    def _stamp_or_missing(self, name: str) -> tuple[int, str | int]:
        try:
            return self._stamp(name)
        except NoData:
            return MISSING

    def _check(self, name: str, found: Any, stamp: Stamp | None) -> None:
        """Refuse an answer that is of another object, before its content is loaded."""
        if stamp is not None:
            size, tag = _stamp_of(found.meta)
            if (size, tag_number(tag)) != stamp:
                raise changed(self.path(name))

    def _opened(self) -> Any:
        store = needed("obstore.store", "an object store", "s3")
        with _environment(self._variables):
            try:
                return store.from_url(self.where, **self._settings)
            except Exception as error:
                raise BadArgument(
                    f"{self.where} cannot be opened with settings {sorted(self._settings)}: {error}"
                ) from error

    def _failed(self, name: str, error: Exception) -> Exception:
        path = self.path(name)
        if isinstance(error, FileNotFoundError):
            return NoData(
                f"{path} does not exist: {_first_line(error)}; check bucket, path and region"
            )
        return ReadFailed(
            f"{path} cannot be read: {_first_line(error)}; check that the store can be reached and "
            "the credentials (AWS_..., GOOGLE_..., AZURE_..., or settings=) are right"
        )


def tag_number(tag: str) -> int:
    """Return a store's tag of an object as a 64-bit number."""
    digest = blake2b(tag.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _stamp_of(meta: Any) -> tuple[int, str]:
    return int(meta["size"]), str(meta["e_tag"] or meta["last_modified"])


def _obstore() -> Any:
    return needed("obstore", "an object store", "s3")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else repr(error)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the variables of the process that opened the storage instead of this one's."""
    before = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
    for name in before:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update(before)
