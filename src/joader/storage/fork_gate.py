"""Keeps a process from forking while a thread is inside a library that could not bear it.

A fork copies locks as they are, and not the threads that would let go of them. Where a library has
locks of its own (LMDB), a child would wait for ever for a thread that it does not have. So threads
pass the gate when they call it, and a fork waits until none is inside: a read, at most.
"""

import os
import threading


class ForkGate:
    """Count the threads inside; `with gate:` around what no fork may come between."""

    def __init__(self) -> None:
        """Let nobody fork from now on while somebody is inside."""
        self._inside = 0
        self._change = threading.Condition(threading.Lock())
        os.register_at_fork(
            before=self._shut,
            after_in_parent=self._change.release,
            after_in_child=self._change.release,
        )

    def __enter__(self) -> None:
        """Go in; wait where a fork is under way."""
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
