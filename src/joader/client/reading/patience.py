"""How long a pass waits for a batch that is late: it asks the daemon what the batch waits for.

One `Patience` serves one pass; `begin` starts it anew for each batch. A row that the daemon is
about to give up gets the time that takes, once. Ranks wait for each other: one of them may be busy
for long, and is not lost.
Not here: what happens if the daemon does not answer, or is gone (delivery.py).
"""

import logging
from contextlib import suppress

from joader.client.reading.connection import Connection
from joader.daemon.lifecycle import log_path
from joader.errors import NoDaemon, Overdue
from joader.messages import AskWhy, Why

# How often a rank waits `timeout` more for others that are here: rank 0 may be validating alone.
# With 120 s it is half an hour, after which torch.distributed gives up, too.
MOST_PATIENCE = 15
# A daemon that lives answers at once, even if all its workers are stuck.
_WHY_S = 5.0
# How long the daemon may take to give a row up: it looks now and then, and asks where the code is.
_GIVING_UP_S = 5.0

log = logging.getLogger("joader")


class Patience:
    """How much longer the batch that a pass waits for may take."""

    def __init__(self) -> None:
        """Begin with the first batch."""
        self.begin()

    def begin(self) -> None:
        """Wait for another batch."""
        self._waited = 0  # times, for other ranks
        self._granted = False  # the time that a row needs to be given up

    def more_s(self, connection: Connection, timeout_s: float) -> float:
        """Return how much longer to wait, or raise Overdue; TimeoutError if nobody answers."""
        why = connection.ask(AskWhy(), Why, _WHY_S)
        if 0 < why.more_s <= timeout_s and not self._granted:
            # Once: the daemon then names the row that took too long, which says more than Overdue.
            self._granted = True
            return why.more_s + _GIVING_UP_S
        text = (
            f"{silence(connection, timeout_s)}: {why.text}. See `joader status`, or give a larger "
            "timeout="
        )
        self._waited += 1
        if not why.patience or self._waited > MOST_PATIENCE:
            raise overdue(text, timeout_s)
        log.warning("%s", text)
        return timeout_s


def overdue(text: str, timeout_s: float) -> Overdue:
    """Return what to raise, with what torch's loader says first: scripts look for that."""
    return Overdue(f"DataLoader timed out after {timeout_s:g} seconds: {text}")


def silence(connection: Connection, timeout_s: float) -> str:
    """Say who was waited for, and how long."""
    return f"no batch came from the daemon (process {connection.daemon_pid}) in {timeout_s:g} s"


def daemon_log() -> str:
    """Name the daemon's log; if its folder is gone, that is not a reason to stop."""
    with suppress(NoDaemon):
        return str(log_path())
    return "its log"
