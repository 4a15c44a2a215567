"""One memfd of the budget's size: workers write it, clients read it, the kernel frees it.

The memory has no name. It lives while a process maps it or holds a descriptor of it, so `kill -9`
of all of them leaves nothing behind, and a container's `--shm-size` does not matter.

Invariants:
- The size never changes: the memfd is sealed against shrinking and growing, so no process can pull
  pages out from under another's mapping (which would raise SIGBUS there).
- A client cannot write: its descriptor is open for reading only, so the kernel refuses a writable
  mapping, and its view is a read-only array. The mode 0400 also keeps it from opening the
  descriptor's /proc entry for writing (unless it runs as root).
- Never more than the budget: the size is the budget rounded down to whole pages.

Owner: the process that calls `Arena(...)`, the daemon; workers and clients `attach`. A page is
charged to the memory cgroup of the process that touches it first: another reason for the owner to
`touch` pages ahead of the workers. Misuse to avoid: handing `view` of a writable arena to user
code. Not here: which bytes are free (cache/runs.py), how descriptors travel (daemon/, client/).
"""

import errno
import fcntl
import mmap
import os
import threading
import weakref
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, OurError, WorldError

# Bytes touched in one native call, during which the GIL is free. `close` is noticed between two
# calls, so this bounds how long it waits: about 5 ms. Below 500 pages NumPy keeps the GIL.
STEP_BYTES = 4 * 2**20

_NO_MEMORY = {errno.ENOMEM, errno.ENOSPC}
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Arena:
    """Shared memory of fixed size, open from construction to `close`; also a context manager."""

    def __init__(self, size_bytes: int) -> None:
        """Create the memory as its owner; `size_bytes` is rounded down to whole pages."""
        whole = size_bytes // mmap.PAGESIZE * mmap.PAGESIZE
        if whole < mmap.PAGESIZE:
            raise BadArgument(
                f"an arena of {size_bytes} bytes is too small; give at least one page, "
                f"{mmap.PAGESIZE} bytes"
            )
        try:
            descriptor = os.memfd_create("joader-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise WorldError(
                f"the kernel refused to create shared memory (memfd_create): {error}"
            ) from error
        self._close_descriptor = weakref.finalize(self, os.close, descriptor)
        self._descriptor: int | None = descriptor
        try:
            # The size comes before the seals, which forbid changing it.
            os.ftruncate(descriptor, whole)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
            os.fchmod(descriptor, 0o400)
        except OSError as error:
            self._close_descriptor()
            raise WorldError(f"cannot create {whole} bytes of shared memory: {error}") from error
        self._map(descriptor, whole, writable=True)

    @classmethod
    def attach(
        cls, descriptor: int, size_bytes: int, *, writable: bool = False, forks: bool = True
    ) -> Self:
        """Map an arena that another process owns; the caller still has to close the descriptor.

        With `forks=False` a process forked from this one does not inherit the mapping: it can
        neither write there nor keep the memory alive.
        """
        arena = cls.__new__(cls)
        arena._descriptor = None
        try:
            sealed = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _SEALS == _SEALS
            there_bytes = os.fstat(descriptor).st_size
        except (OSError, ValueError) as error:
            raise OurError(f"descriptor {descriptor} is not an arena: {error}") from error
        if not sealed or there_bytes != size_bytes or size_bytes == 0:
            raise OurError(
                f"descriptor {descriptor} is not an arena of {size_bytes} bytes: it has "
                f"{there_bytes} and is {'' if sealed else 'not '}sealed"
            )
        arena._map(descriptor, size_bytes, writable=writable, forks=forks)
        return arena

    def _map(self, descriptor: int, size_bytes: int, *, writable: bool, forks: bool = True) -> None:
        try:
            mapping = mmap.mmap(
                descriptor,
                size_bytes,
                flags=mmap.MAP_SHARED,
                prot=mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ,
            )
        except PermissionError as error:
            raise BadArgument(
                "this descriptor is read-only; attach with writable=False, or get one from the "
                "owner's writable_descriptor()"
            ) from error
        except OSError as error:
            raise WorldError(f"cannot map {size_bytes} bytes of shared memory: {error}") from error
        mapping.madvise(mmap.MADV_DONTDUMP)  # a job that crashes must not dump 8 GiB of arena
        if not forks:
            mapping.madvise(mmap.MADV_DONTFORK)
        self.size_bytes = size_bytes
        self.writable = writable
        self.touched_bytes = 0
        self._closing = threading.Lock()
        # The array keeps the mapping alive: it is unmapped after the last view is gone, never
        # before.
        self._view: NDArray[np.uint8] | None = np.frombuffer(mapping, np.uint8)

    @property
    def view(self) -> NDArray[np.uint8]:
        """All bytes as one array, read-only if the arena is; slices stay valid after `close`."""
        if self._view is None:
            raise OurError("the arena is closed; take the view before closing, or attach again")
        return self._view

    def slot(self, offset: int, size_bytes: int) -> NDArray[np.uint8]:
        """Return the bytes of one slot."""
        if not 0 <= offset <= offset + size_bytes <= self.size_bytes:
            raise OurError(
                f"the slot of {size_bytes} bytes at {offset} is outside the arena of "
                f"{self.size_bytes} bytes"
            )
        return self.view[offset : offset + size_bytes]

    def read_only_descriptor(self) -> int:
        """Open a read-only descriptor for a client; the caller closes it."""
        # Reopened through /proc: a dup would share the owner's open file, which is writable.
        path = f"/proc/self/fd/{self._owned()}"
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise WorldError(f"cannot open {path}: {error}; joader needs /proc mounted") from error

    def writable_descriptor(self) -> int:
        """Open a descriptor for a worker; the caller closes it."""
        return os.dup(self._owned())

    def touch(self, up_to_bytes: int, step_bytes: int = STEP_BYTES) -> int:
        """Make the kernel allocate the first bytes now, in steps; return how far it got.

        The first use of a page costs up to 4.5 µs (1.2 s per GiB), wherever it happens; so one
        background thread of the owner does most of it ahead of time, by `posix_fallocate`: 0.29 s
        per GiB. The kernel then clears a page when it is first written, which makes no difference
        to the writer (0.38 s per GiB in either case). Where that is not supported, pages are read:
        a hole in shared memory gets its page when it is read, 0.8 s per GiB. Neither can harm a
        process that writes at the same time. Tried and rejected: madvise(MADV_POPULATE_WRITE) keeps
        the GIL (other threads woke 6 ms late at steps of 4 MiB). Ends early after `close`, or if
        the kernel has no memory.
        """
        if step_bytes < 1:
            raise BadArgument(f"step_bytes={step_bytes} is too small; give at least 1")
        end = min(up_to_bytes, self.size_bytes)
        with self._closing:
            if self._descriptor is None:
                return self.touched_bytes
            # A descriptor of its own: the number of one that `close` closes may be reused for
            # another file.
            descriptor = os.dup(self._descriptor)
        try:
            while self.touched_bytes < end and (view := self._view) is not None:
                start = self.touched_bytes & -mmap.PAGESIZE
                stop = min(max(start, self.touched_bytes) + step_bytes, end)
                if not _allocate(descriptor, view, start, stop):
                    break
                self.touched_bytes = stop
        finally:
            os.close(descriptor)
        return self.touched_bytes

    def close(self) -> None:
        """Give up the arena. Views that are still held stay valid and keep the memory alive."""
        self._view = None
        with self._closing:
            if self._descriptor is not None:
                self._descriptor = None
                self._close_descriptor()

    def _owned(self) -> int:
        if self._descriptor is None:
            raise OurError("only the owner of an open arena can hand out descriptors")
        return self._descriptor

    def __enter__(self) -> Self:
        """Return the arena itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the arena."""
        self.close()


def _allocate(descriptor: int, view: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Allocate the pages from here to there; return whether the kernel had memory for them."""
    try:
        os.posix_fallocate(descriptor, start, stop - start)
    except OSError as error:
        if error.errno in _NO_MEMORY:
            return False
        view[start : stop : mmap.PAGESIZE].max()  # reads one byte per page
    return True
