"""One line when a process that used joader ends: what it got, and what that saved.

Only if something was saved: a job that runs alone has nothing to be told. To standard error, once
per process, whatever the number of loaders; a forked process speaks of what it read itself.
JOADER_QUIET=1 turns it off.
"""

import atexit
import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from joader.messages import Deliver


@dataclass
class Tally:
    """What all loaders of this process got from daemons."""

    delivered: int = 0
    hits: int = 0
    shared: int = 0
    wait_s: float = 0.0
    pid: int = 0  # of the process that counts; 0: nothing was counted yet

    def note(self, batch: Deliver, wait_s: float) -> None:
        """Count a batch that a daemon has delivered."""
        if self.pid != os.getpid():
            # A forked child begins anew: its parent speaks of what was read before.
            inherited, self.pid = self.pid, os.getpid()
            self.delivered = self.hits = self.shared = 0
            self.wait_s = 0.0
            if not inherited:
                atexit.register(self.say)
        count = len(batch.positions) - len(batch.failed)
        self.delivered += count
        self.hits += max(0, count - batch.prepared)
        self.shared += batch.shared
        self.wait_s += wait_s

    def words(self) -> str:
        """Return the line; "" if nothing was saved."""
        if not self.hits:
            return ""
        part = self.hits / self.delivered
        whose = f", {self.shared:,} from other jobs" if self.shared else ", from passes before"
        return (
            f"joader: {part:.0%} of the work saved: {self.hits:,} of {self.delivered:,} samples "
            f"were prepared already{whose}; waited {self.wait_s:.1f} s for data\n"
        )

    def say(self) -> None:
        """Write the line to standard error, unless nobody wants it."""
        quiet = os.environ.get("JOADER_QUIET", "") not in ("", "0")
        if self.pid == os.getpid() and not quiet and sys.stderr is not None:
            with suppress(OSError, ValueError):  # it may be closed by now
                sys.stderr.write(self.words())


tally = Tally()
