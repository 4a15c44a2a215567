"""What a person or a client asks, and what it is told."""

from joader.messages.fields import Message, Text


class Differs(Message, frozen=True):
    """Tell a client that a row of its recipe comes out otherwise in its workers."""

    row: int


class AskWhy(Message, frozen=True):
    """Ask what the job's next batch waits for."""


class Why(Message, frozen=True):
    """Answer AskWhy in words: which row, where it is, since when.

    `patience`: it waits for other ranks of its job, which are all here and may have other work.
    `more_s`: the row it waits for takes long, and is given up in this many seconds.
    """

    text: str
    patience: bool = False
    more_s: float = 0.0


class AskStatus(Message, frozen=True):
    """Ask for everything `joader status` shows."""


class Status(Message, frozen=True):
    """Answer AskStatus with JSON."""

    body: bytes


class Change(Message, frozen=True):
    """Change a setting of the daemon or of a job: answered with Status, or Refuse.

    A policy divides the workers' time from now on, unless it is empty; a job has another weight,
    unless it is 0.
    """

    policy: Text = ""
    job: int = 0
    weight: float = 0.0


class Meet(Message, frozen=True):
    """Have the daemon join a cluster, or look for its leader at another address.

    Answered with Status, or Refuse. The asker keeps the leader at that address.
    """

    address: Text
    key: Text


class AskRun(Message, frozen=True):
    """Ask for the figures and their history, as far as it is later than this second of the day.

    `since` is the time of the latest moment that the asker knows; 0: it knows none.
    """

    since: float = 0.0


class Run(Message, frozen=True):
    """Answer AskRun with JSON (`RunStatistics`)."""

    body: bytes


class AskExplain(Message, frozen=True):
    """Ask what two jobs share."""

    one: int
    other: int


class Explained(Message, frozen=True):
    """Answer AskExplain with JSON."""

    body: bytes
