"""One line when a process that used joader ends: what it got, and what that saved.

Only if something was saved: a job that runs alone has nothing to be told. To standard error, once
per process, whatever the number of loaders; a forked process speaks of what it read itself.
JOADER_QUIET=1 turns it off.
"""

import atexit
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field

from joader.messages import Deliver

# A process that makes a loader for each epoch has many jobs: the last ones are named.
_MOST_NUMBERS = 3
_MOST_LABELS = 100


@dataclass
class Tally:
    """What all loaders of this process got from daemons."""

    delivered: int = 0
    hits: int = 0
    shared: int = 0
    wait_s: float = 0.0
    pid: int = 0  # of the process that counts; 0: nothing was counted yet
    jobs: list[int] = field(default_factory=list)  # the last that got something, by number
    labels: dict[int, str] = field(default_factory=dict)

    def call(self, job: int, label: str) -> None:
        """Note what the daemon calls a job of this process."""
        self.labels[job] = label
        if len(self.labels) > _MOST_LABELS:
            del self.labels[next(iter(self.labels))]

    def note(self, batch: Deliver, wait_s: float) -> None:
        """Count a batch that a daemon has delivered."""
        if self.pid != os.getpid():
            # A forked child begins anew: its parent speaks of what was read before.
            inherited, self.pid = self.pid, os.getpid()
            self.delivered = self.hits = self.shared = 0
            self.wait_s, self.jobs = 0.0, []
            if not inherited:
                atexit.register(self.say)
        if not self.jobs or self.jobs[-1] != batch.job:
            others = [job for job in self.jobs if job != batch.job]
            self.jobs = [*others[-_MOST_NUMBERS:], batch.job]  # one more than are named
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
            f"joader: {self._who()}{part:.0%} of the work saved: {self.hits:,} of "
            f"{self.delivered:,} samples were prepared already{whose}; waited {self.wait_s:.1f} s "
            "for data\n"
        )

    def _who(self) -> str:
        """Return numbers and name as screens show them."""
        latest = self.jobs[-_MOST_NUMBERS:]
        called: dict[str, list[str]] = {}
        for job in latest:
            called.setdefault(self.labels.get(job, ""), []).append(f"#{job}")
        before = ["..."] if len(latest) < len(self.jobs) else []
        each = [f"{', '.join(numbers)} {label}".rstrip() for label, numbers in called.items()]
        return f"{', '.join([*before, *each])}: " if each else ""

    def say(self) -> None:
        """Write the line to standard error, unless nobody wants it."""
        quiet = os.environ.get("JOADER_QUIET", "") not in ("", "0")
        if self.pid == os.getpid() and not quiet and sys.stderr is not None:
            with suppress(OSError, ValueError):  # it may be closed by now
                sys.stderr.write(self.words())


tally = Tally()
