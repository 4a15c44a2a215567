"""Actions that `dispatch` returns, and what it is told about jobs and processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from joader.messages import Event, JobSettings, ToWorker
from joader.schedule.work.blame import Note, Pulse


class Give(NamedTuple):
    """Send messages to a worker."""

    worker: int
    messages: Sequence[ToWorker]


class AskForWorker(NamedTuple):
    """Ask the nursery of a ticket for a worker of this number."""

    ticket: str
    number: int


class Abandon(NamedTuple):
    """Let a worker print its stack, and kill it."""

    worker: int


class Dismiss(NamedTuple):
    """Kill the remaining workers of a crew, and release its nursery."""

    ticket: str
    workers: tuple[int, ...]


class Tell(NamedTuple):
    """Tell the engine."""

    event: Event


class Warn(NamedTuple):
    """Write a warning to the log."""

    text: str


Action = Give | AskForWorker | Abandon | Dismiss | Tell | Warn


@dataclass(frozen=True, slots=True)
class Lent:
    """What a job brings: its workers, what they can prepare, and the settings of the job."""

    ticket: str
    code: str
    settings: JobSettings
    workers: int = 0  # the most it lends; 0: its share of the cores
    waits: bool = False  # rows wait for a network, many at a time
    home: str = ""  # where its workers run: cgroup and affinity; "": where the daemon does
    cores: int = 0  # how many of them that home can keep busy
    team: str = ""  # of ranks of one job: its settings are of all of them


class Seen(NamedTuple):
    """What the daemon sees of a worker's process from outside, now and then."""

    at_work: Sequence[Note]
    private_bytes: int
    pulse: Pulse | None = None  # of those that are in doubt
