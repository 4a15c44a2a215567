"""Workers start and end: messages between a job, its nursery and the daemon."""

from joader.messages.fields import Message, Natural


class Attend(Message, frozen=True):
    """Tell a nursery which daemon to serve, and by which ticket; it leaves the one before."""

    path: str
    ticket: str
    daemon: int = 0  # its process: another may listen at the same path


class Born(Message, frozen=True):
    """Say that a nursery is ready, what its recipe is called there, and why it is not comparable.

    Under spawn and forkserver the code was loaded again: its name counts, not that in the job.
    """

    recipe: str = ""
    opaque: str = ""
    place: str = ""


class Unborn(Message, frozen=True):
    """Say why a nursery cannot serve: no worker can be forked, or the daemon lets nobody in."""

    reason: str


class Bear(Message, frozen=True):
    """Tell a nursery to fork a worker of this number."""

    number: int


class Ended(Message, frozen=True):
    """Say how a worker's process ended: its exit code, or less than 0, the signal."""

    number: Natural
    pid: Natural
    code: int


class Slay(Message, frozen=True):
    """Tell a nursery to kill a worker that the daemon cannot reach."""

    number: int
