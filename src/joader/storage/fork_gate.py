"""Keeps a process from forking while a thread is inside a library that a fork would break.

A fork copies locks as they are, but not the threads that would release them. If a library has its
own locks (LMDB), a child would wait forever for a thread that it does not have. So threads pass the
gate when they call the library, and a fork waits until none is inside: one read, at most.
"""

import os
import threading


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
