"""What a worker, and what user code forks in it, must not hear, keep or leave behind."""

import faulthandler
import os
import signal
from contextlib import suppress
from typing import Any, NoReturn

from joader.wire import Channel
from joader.workers.desk import SIGNAL

# What is sent to all processes of a job, and is the job's business: workers do not hear of it.
QUIET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def end_group() -> NoReturn:
    """End at once, with all that user code has started: it may hang, and nobody waits for it."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def mind_forks(channel: Channel[Any]) -> None:
    """See to it that processes that user code forks have nothing of the worker's.

    Signals wait around the fork: one that is for the new process must not end in the empty handler
    that it has for a moment.
    """
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, QUIET),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, QUIET),
        after_in_child=lambda: let_go(channel),
    )


def let_go(channel: Channel[Any]) -> None:
    """Leave the daemon to the worker, in a process that user code has forked.

    What a worker must not hear of (nursery.py), such a process must: `terminate()` is a SIGTERM.
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

    Python's mmap keeps one for each mapping, also where the mapping itself is not inherited. Who
    has one keeps the memory, however long its daemon and its job are gone.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):
            # Replaced, not closed: a mapping closes its descriptor once more.
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("/memfd:joader-"):
                os.dup2(nothing, descriptor, inheritable=False)
