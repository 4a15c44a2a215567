"""Isolates workers and the processes that user code forks in them: signals, descriptors, memory."""

import faulthandler
import os
import signal
from contextlib import suppress
from typing import Any, NoReturn

from joader.wire import Channel
from joader.workers.desk import SIGNAL

# Signals sent to all processes of a job, and handled by the job alone: workers ignore them.
QUIET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def end_group() -> NoReturn:
    """Kill this process and all that user code has started: waiting for it could hang."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def mind_forks(channel: Channel[Any]) -> None:
    """Make processes that user code forks release all that belongs to the worker.

    Signals are blocked around the fork: one sent to the new process must not be swallowed by the
    empty handler that it inherits.
    """
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, QUIET),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, QUIET),
        after_in_child=lambda: let_go(channel),
    )


def let_go(channel: Channel[Any]) -> None:
    """Release the worker's channel, signals and memory, in a process that user code has forked.

    Signals that a worker ignores (nursery.py) work again here, because `terminate()` is a SIGTERM.
    """
    for number in QUIET:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, QUIET)
    faulthandler.disable()
    faulthandler.unregister(SIGNAL)
    channel.close()
    let_go_of_memory()


def let_go_of_memory() -> None:
    """Close descriptors of shared memory, in a process that was forked.

    Python's mmap keeps a descriptor per mapping, even if the mapping itself is not inherited. A
    process that holds one keeps the memory allocated after its daemon and its job are gone.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):
            # Replaced, not closed: the mapping closes the same descriptor number again.
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("/memfd:joader-"):
                os.dup2(nothing, descriptor, inheritable=False)
