"""The page of shared memory on which a worker notes what it works on, for the daemon to read.

A worker that hangs, is stopped or has died cannot be asked. So each of its threads notes here what
it begins, and the daemon reads it to find which sample a death is blamed on, and what takes too
long. A stack trace follows the page: faulthandler writes it there when the process crashes or gets
`SIGNAL`, even while native code holds the interpreter.

Invariant: only one thread writes a given note. The daemon may read a half-written note, so it acts
only on what it has seen twice. The memory has no name and is freed with the two processes.
"""

import faulthandler
import mmap
import os
import re
import signal
import struct
import threading
import time
from typing import Self

from joader.schedule.work.blame import Note

SIGNAL = signal.SIGRTMAX
LOADING = b"loading the code (unpickling, imports)"
READING = b"reading the row"
WRITING = b"writing the sample"
_PAGE_BYTES = 8192
_NOTE = struct.Struct("<qd112p")  # sample, since when, step
_NOBODY = -1
_MOST_TRACE_BYTES = 64 * 1024
_FRAME = re.compile(r'\s*File "(?P<file>.*)", line (?P<line>.*) in (?P<name>.*)')
_OURS = (os.path.join("joader", "workers"), os.path.join("concurrent", "futures"), "threading.py")


class Desk:
    """One worker's page: created by the daemon, attached by the worker."""

    def __init__(self) -> None:
        """Create a page without notes, as the daemon."""
        self.descriptor = os.memfd_create("joader-desk", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, _PAGE_BYTES)
        self._map()
        for place in range(_PAGE_BYTES // _NOTE.size):
            _NOTE.pack_into(self._page, place * _NOTE.size, _NOBODY, 0.0, b"")

    @classmethod
    def attach(cls, descriptor: int) -> Self:
        """Map the page in the worker, and have stack traces written behind it."""
        desk = cls.__new__(cls)
        desk.descriptor = descriptor
        desk._map()
        os.lseek(descriptor, _PAGE_BYTES, os.SEEK_SET)
        faulthandler.enable(descriptor)
        faulthandler.register(SIGNAL, descriptor)
        return desk

    def _map(self) -> None:
        self._page = mmap.mmap(self.descriptor, _PAGE_BYTES)
        self._page.madvise(mmap.MADV_DONTFORK)
        self._owner = os.getpid()
        self._mine = threading.local()
        self._seated = 0
        self._lock = threading.Lock()

    # The worker's side.

    def begin(self, sample: int, step: bytes) -> None:
        """Note what this thread begins."""
        mine = self._mine
        try:
            place = mine.place
        except AttributeError:
            with self._lock:
                place = mine.place = self._seated % (_PAGE_BYTES // _NOTE.size) * _NOTE.size
                self._seated += 1
        mine.sample, mine.step, mine.since = sample, step, time.monotonic()
        _NOTE.pack_into(self._page, place, sample, mine.since, step)

    def step(self, step: bytes) -> None:
        """Note that this thread has reached another step of the same sample.

        A process that user code forked and that returns from user code ends here.
        """
        if os.getpid() != self._owner:
            os._exit(1)
        mine = self._mine
        mine.step = step
        _NOTE.pack_into(self._page, mine.place, mine.sample, mine.since, step)

    def end(self) -> None:
        """Note that this thread works on nothing."""
        _NOTE.pack_into(self._page, self._mine.place, _NOBODY, 0.0, b"")

    def at(self) -> str:
        """Return the step that this thread works on."""
        step: bytes = self._mine.step
        return step.decode(errors="replace")

    # The daemon's side.

    def notes(self) -> list[Note]:
        """Return what each thread of the worker works on."""
        found = []
        for place in range(_PAGE_BYTES // _NOTE.size):
            sample, since, step = _NOTE.unpack_from(self._page, place * _NOTE.size)
            if sample != _NOBODY:
                found.append(Note(sample, since, step.decode(errors="replace")))
        return found

    def trace(self) -> str:
        """Return the stack trace of a crash or of `SIGNAL`; empty if there is none."""
        data = os.pread(self.descriptor, _MOST_TRACE_BYTES, _PAGE_BYTES)
        return shortened(data.decode(errors="replace"))

    def close(self) -> None:
        """Unmap the page, in the daemon."""
        os.close(self.descriptor)
        self._page.close()


def shortened(dump: str) -> str:
    """Return the frames of user code in a faulthandler dump, as a traceback."""
    threads = [part.splitlines() for part in re.split(r"\n(?=(?:Current t|T)hread )", f"\n{dump}")]
    crashed = "Fatal Python error" in dump
    for lines in threads:
        at_work = any("joader/workers" in line and line.endswith(" _reply") for line in lines)
        if lines[:1] and (lines[0].startswith("Current thread") if crashed else at_work):
            frames = [found for line in lines if (found := _FRAME.match(line))]
            told = [
                f'  File "{frame["file"]}", line {frame["line"]}, in {frame["name"]}'
                for frame in reversed(frames)
                if not any(part in frame["file"] for part in _OURS)
            ]
            return "\n".join(["Where it was (most recent call last):", *told]) if told else ""
    return ""
