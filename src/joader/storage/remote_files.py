"""Objects of a store behind a network, through obstore: s3, gs, az, http.

The settings and the environment variables of the stores (AWS_..., GOOGLE_..., AZURE_...) are taken
down when the storage is opened and travel with it: the workers are started by a daemon that may
have others. They are not part of the fingerprint.

obstore runs on threads that a fork does not copy: a child of a process that has read would wait for
ever. It gets an error instead. Processes that are started fresh (spawn, joader's own workers) are
not concerned.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from joader.errors import BadArgument, NoData, ReadFailed
from joader.storage.in_flight import InFlight
from joader.storage.local_files import Part
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess

SCHEMES = ("s3://", "s3a://", "gs://", "az://", "abfs://", "abfss://", "http://", "https://")
REMOTE_IN_FLIGHT = 64
_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_")
_used_by: set[int] = set()  # the process in which obstore has started its threads


class RemoteFiles:
    """Objects below a URL; names are relative to it."""

    slow = True
    # A request costs some 20 ms whatever it brings, about as long as a megabyte takes.
    least_bytes, most_bytes = 1 << 18, 1 << 23

    def __init__(
        self,
        url: str,
        in_flight: int = REMOTE_IN_FLIGHT,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Look at nothing yet; `settings` are what `obstore.store.from_url` takes."""
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
                f"{self.where} is on a web server, which has no list of its files; give the list "
                "of URLs, or that of a .tar"
            )
        store = self._started()
        try:
            chunks = _obstore().list(store, chunk_size=1000)
            found = [(one["path"], int(one["size"])) for chunk in chunks for one in chunk]
        except Exception as error:
            raise self._failed("", error) from error
        return sorted(pair for pair in found if not pair[0].endswith("/"))

    def read_whole(self, names: Sequence[str]) -> list[bytes]:
        """Return the content of objects."""
        self._started()
        return self._reads.map(self._whole, names)

    def read_parts(self, parts: Sequence[Part]) -> list[bytes]:
        """Return parts of objects: range requests, many at a time."""
        self._started()
        return self._reads.map(self._part, parts)

    def stamps(self, names: Sequence[str]) -> list[tuple[int, str | int]]:
        """Return size and tag (or time of change) of each object."""
        self._started()
        return self._reads.map(self._stamp, names)

    def close(self) -> None:
        """Forget the store and its connections."""
        self._store.take()
        self._reads.close()

    def _whole(self, name: str) -> bytes:
        try:
            return bytes(_obstore().get(self._store.get(), name).bytes())
        except Exception as error:
            raise self._failed(name, error) from error

    def _part(self, part: Part) -> bytes:
        name, start, size = part
        if not size:
            return b""
        try:
            body = bytes(_obstore().get_range(self._store.get(), name, start=start, length=size))
        except Exception as error:
            raise self._failed(name, error) from error
        if len(body) != size:
            raise ReadFailed(
                f"{self.path(name)} gave {len(body)} of {size} bytes from byte {start} on: it was "
                "written anew after it was opened; open the storage again"
            )
        return body

    def _stamp(self, name: str) -> tuple[int, str | int]:
        try:
            meta = _obstore().head(self._store.get(), name)
        except Exception as error:
            raise self._failed(name, error) from error
        return int(meta["size"]), str(meta["e_tag"] or meta["last_modified"])

    def _started(self) -> Any:
        """Return the store, in a process where its threads can run."""
        if _used_by and os.getpid() not in _used_by:
            raise ReadFailed(
                f"{self.where} was read in this process's parent before it was forked, and the "
                "client of object stores does not survive a fork; start processes with "
                "multiprocessing's 'spawn' or 'forkserver', or use joader.DataLoader"
            )
        _used_by.add(os.getpid())
        return self._store.get()

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
            return NoData(f"{path} is not there: {_first_line(error)}; see bucket, path and region")
        return ReadFailed(
            f"{path} cannot be read: {_first_line(error)}; see that the store can be reached and "
            "the credentials (AWS_..., GOOGLE_..., AZURE_..., or settings=) are right"
        )


def _obstore() -> Any:
    return needed("obstore", "an object store", "s3")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else repr(error)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these variables, of the process that opened the storage, instead of this one's."""
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
