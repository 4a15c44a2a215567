"""The first messages on a connection, and the last."""

from joader.messages.fields import Message, Natural, Text


class Hello(Message, frozen=True):
    """Say who connects; `pid` is watched, so that what a job holds goes when it goes.

    `role` is "client", "watcher", "nursery" or "worker"; the latter two say by which `ticket` a job
    has announced them, and a worker which of its nursery's it is. A watcher only asks: it gets no
    memory, and the daemon does not stay for it.
    """

    protocol: int
    pid: int
    role: Text = "client"
    ticket: Text = ""
    number: Natural = 0


class Welcome(Message, frozen=True):
    """Answer a Hello.

    To a client the message carries a read-only descriptor of the arena, to a worker a writable one
    and its desk, to a nursery and a watcher none.
    """

    protocol: int
    version: str
    pid: int
    arena_bytes: int


class Stop(Message, frozen=True):
    """Tell the daemon, a nursery or a worker to end; a nursery says so before it does."""
