"""A handle that every process opens for itself, when it first uses it.

Descriptors could be shared after a fork, but the libraries above them (LMDB, Arrow, clients of
object stores) keep locks and threads that do not survive one. So a handle belongs to the process
that opened it. A child leaves its parent's handle alone, without closing it; pickling omits it.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_inherited: list[Any] = []  # handles of a parent process: closing them here could harm it


class PerProcess(Generic[T]):
    """The result of `make()`, made once in each process; `make` must be picklable."""

    _opening = threading.RLock()  # of all handles: opening is rare

    def __init__(self, make: Callable[[], T]) -> None:
        """Open nothing yet."""
        self._make = make
        self._opened: tuple[int, T] | None = None  # by which process

    def get(self) -> T:
        """Return the handle of this process."""
        opened = self._opened
        if opened is not None and opened[0] == os.getpid():
            return opened[1]
        with PerProcess._opening:
            opened = self._opened
            if opened is None or opened[0] != os.getpid():
                _inherited.append(opened)
                opened = self._opened = (os.getpid(), self._make())
            return opened[1]

    def take(self) -> T | None:
        """Return this process's handle, if there is one, and forget it: the caller closes it."""
        opened, self._opened = self._opened, None
        return opened[1] if opened is not None and opened[0] == os.getpid() else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the handle."""
        return PerProcess, (self._make,)


def _renew_lock() -> None:
    PerProcess._opening = threading.RLock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_renew_lock)
