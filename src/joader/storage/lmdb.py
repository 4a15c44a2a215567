"""An LMDB environment: one row per key, in the order of keys.

Columns: `value` and `key`, both bytes. The keys are read once, when it is opened (0.5 s for a
million); `keys` selects some, in the order given. It is opened for reading without locks, so that
it can be on a read-only disk: nothing may write to it meanwhile.

LMDB has locks inside its library. A fork copies locks as they are, but not the threads that would
release them, so a child could wait forever for a thread that it does not have. Therefore every call
to the library passes a `ForkGate`, and a fork waits until no thread is inside: one read, at most.
"""

import os
import threading
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

from joader.errors import BadData, NoData, ReadFailed
from joader.storage.names import Names
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess
from joader.storage.places import paths_stamped
from joader.storage.storage import Rows, Storage, Values

# LMDB can open a path only once per process, so storages of one path share it. Kept with the
# process that opened it: a child has to close what it inherited before it can open the path again.
_open: "WeakValueDictionary[str, Any]" = WeakValueDictionary()
_opened_by: dict[str, int] = {}


class Lmdb(Storage):
    """The values of an LMDB environment."""

    def __init__(
        self,
        path: str,
        *,
        columns: Sequence[str] | None = None,
        keys: Sequence[bytes] | None = None,
    ) -> None:
        """Read the keys."""
        self.path = os.path.abspath(path)
        self._environment = PerProcess(partial(_opened, self.path))
        environment = self._environment.get()
        if keys is None:
            with _gate, environment.begin() as transaction:
                keys = list(transaction.cursor().iternext(values=False))
        if not keys:
            raise NoData(f"{path} has no keys; give an environment with values in it")
        self._keys = Names.of(keys)
        self.length = len(self._keys)
        self._last_write = int(environment.info()["last_txnid"])
        self.columns = {"value": "bytes", "key": "bytes"}
        self.choose(columns, ("value",))

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read values."""
        keys = self._keys.encoded(rows)
        return [self._values(keys) if name == "value" else list(keys) for name in columns]

    def _values(self, keys: Sequence[bytes]) -> list[bytes]:
        environment = self._environment.get()
        with _gate, environment.begin() as transaction:
            values = list(map(transaction.get, keys))
        if None in values:
            raise ReadFailed(
                f"{self.path} has no key {keys[values.index(None)]!r}; if it was written to since "
                "it was opened, open it again"
            )
        return values

    def place(self) -> str:
        """Return the environment."""
        return str(self.path)

    def identity(self) -> tuple[Any, ...]:
        """Return place, size and time of change, the last write, and the keys."""
        digest = blake2b(self._keys.blob, digest_size=16)
        digest.update(self._keys.ends.tobytes())
        return (
            paths_stamped([data_file(self.path)]),
            self._last_write,
            digest.hexdigest(),
        )

    def close(self) -> None:
        """Close the environment."""
        self._environment.take()  # closed when its last user releases it


def data_file(path: str) -> str:
    """Return the file that holds the data: in the folder, or the path itself."""
    inner = os.path.join(path, "data.mdb")
    return inner if os.path.isdir(path) else path


def _opened(path: str) -> Any:
    lmdb = needed("lmdb", "an LMDB environment", "lmdb")
    if not os.path.exists(data_file(path)):
        raise NoData(f"{data_file(path)} does not exist; give the path of an LMDB environment")
    place = os.path.realpath(path)
    environment = _open.get(place)
    if environment is not None:
        if _opened_by[place] == os.getpid():
            return environment
        environment.close()
    try:
        with _gate:
            environment = lmdb.open(
                place,
                subdir=os.path.isdir(place),
                readonly=True,
                lock=False,
                readahead=False,  # rows come at random
                create=False,
            )
    except lmdb.Error as error:
        raise BadData(f"{path} is not an LMDB environment, or is damaged: {error}") from error
    _open[place], _opened_by[place] = environment, os.getpid()
    return environment


class ForkGate:
    """Count the threads inside; put `with gate:` around code that no fork may interrupt."""

    def __init__(self) -> None:
        """From now on delay forks while a thread is inside."""
        self._inside = 0
        self._change = threading.Condition(threading.Lock())
        os.register_at_fork(
            before=self._shut,
            after_in_parent=self._change.release,
            after_in_child=self._change.release,
        )

    def __enter__(self) -> None:
        """Go in; wait if a fork is under way."""
        with self._change:
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        """Go out."""
        with self._change:
            self._inside -= 1
            if not self._inside:
                self._change.notify_all()

    def _shut(self) -> None:
        self._change.acquire()
        while self._inside:
            self._change.wait()


_gate = ForkGate()  # LMDB's locks: a child could not close what it inherited
