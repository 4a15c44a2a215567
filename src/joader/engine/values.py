"""What the engine is told (events) and what it says (instructions): plain values, arrays of rows.

The daemon turns messages into events and carries instructions out; the simulator does both on a
virtual clock. A *sample* is the number under which the cache knows the prepared form of a row:
jobs with equal preparations of equal rows speak of equal samples. What there is one of for each
sample is a struct of msgspec: those are made in a fifth of the time a frozen dataclass takes.
"""

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

Job = int
Positions = NDArray[np.int64]
Samples = NDArray[np.int64]
Offsets = NDArray[np.int64]
# What all ranks of a job read at a time, of which the last so many fill it up.
PlannedStep = tuple[Positions, int]


@dataclass(frozen=True, slots=True)
class Join:
    """A job joins: what it reads, and how.

    `recipe` names what makes preparations equal (dataset and shared steps); `rows` holds by
    position the row it stands for, below `row_limit`. `order` is "shared", "seeded" or "given".
    `fresh`: no job may get the same preparation of a row twice (random code in the dataset). `own`:
    the job has a part of its own, done on each sample for it alone. `order` "told": every Want says
    which positions. Ranks of one job join the `team` of that name, each with its number.
    `reads_itself`: it takes what is here, and reads the rest by itself; nothing is prepared for it.
    """

    job: Job
    recipe: str
    rows: NDArray[np.int64]
    row_limit: int
    batch_size: int
    order: str = "shared"
    seed: int = 0
    fresh: bool = False
    own: bool = False
    team: str = ""
    rank: int = 0
    world_size: int = 1
    drop_last: bool = False  # matters to teams, whose last step is filled up otherwise
    reads_for: str = ""  # what several jobs read for, if they do: see instances.py
    reads_itself: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """A job begins a pass; what it has read of it already, if it resumes, is left out.

    The pass's random numbers start from `key`, of ranks from that of rank 0. A rank that goes on
    says how many steps it has `taken` since it began, and what it knows of those to come.
    """

    job: Job
    epoch: int = 0
    done: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    key: int = 0
    taken: int = 0
    plan: tuple[PlannedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Want:
    """A job wants its next `count` samples, as one delivery; if it is told, these positions.

    `times`: how often each of these came before in this pass; None: none did.
    """

    job: Job
    count: int
    now: float = 0.0
    positions: Positions | None = None
    times: Positions | None = None


@dataclass(frozen=True, slots=True)
class Know:
    """A rank knows so many steps of its pass, counted from where it began."""

    job: Job
    count: int


class Prepared(msgspec.Struct, frozen=True):
    """A sample's bytes are written to its slot; 0: all of it, else so many."""

    sample: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PreparedEach:
    """Several samples are prepared, and each takes so many bytes of its slot: as `Prepared`."""

    samples: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sized:
    """A sample is prepared but does not fit its slot, or has none: it needs so many bytes."""

    sample: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A sample could not be prepared."""

    sample: int
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker that prepared these samples died, by them (`blamed`) or with them in hand."""

    samples: tuple[int, ...]
    reason: str
    blamed: bool = True


@dataclass(frozen=True, slots=True)
class Late:
    """The worker that has these samples does not answer, and may still write to their slots.

    Told again and again, as others may come to wait for them, or find room now. Own parts that wait
    for one of them in nobody's hands are forgotten by who says so: they are told anew.
    """

    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inspect:
    """A job's workers are to show that they prepare as others did, before it gets anything."""

    job: Job


@dataclass(frozen=True, slots=True)
class Compared:
    """A job's worker has prepared what is here once more."""

    job: Job
    sample: int


@dataclass(frozen=True, slots=True)
class Release:
    """A job has copied these samples out of their slots."""

    job: Job
    samples: Samples


@dataclass(frozen=True, slots=True)
class TakeBack:
    """A job gives up what was planned beyond what was delivered to it."""

    job: Job


@dataclass(frozen=True, slots=True)
class Leave:
    """A job is gone, by its will or not: all it held is free."""

    job: Job


Event = (
    Join
    | Begin
    | Want
    | Know
    | Prepared
    | PreparedEach
    | Sized
    | Failed
    | Lost
    | Late
    | Inspect
    | Compared
    | Release
    | TakeBack
    | Leave
)


class Prepare(msgspec.Struct, frozen=True):
    """Prepare this row, for this job first, and write it to the slot; without one, say `Sized`.

    Random numbers start from the pass's key, the position, and how often it came before in it.
    """

    sample: int
    recipe: str
    row: int
    job: Job
    key: int
    position: int
    times: int
    offset: int = -1
    size_bytes: int = 0


class Finish(msgspec.Struct, frozen=True):
    """Do a job's own part on another sample and write the result to the slot, or say `Sized`.

    The source is ready, or was said to be prepared before this (source_offset -1).
    """

    sample: int
    source: int
    source_offset: int
    job: Job
    key: int
    position: int
    times: int
    offset: int = -1
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Compare:
    """Have a job's worker prepare a row that is here, and compare; answered by `Compared`."""

    job: Job
    sample: int
    recipe: str
    row: int
    offset: int


@dataclass(frozen=True, slots=True)
class Place:
    """Write the sample that was `Sized` to this slot; offset -1: nobody wants it, drop it."""

    sample: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a job its next positions, in order; of those in `failed`, with the reason, no sample.

    Of the samples `prepared` count as prepared for this job, the others are hits; `shared` of
    these were prepared for another job. For jobs that are told, positions are their numbers in the
    order they were told. A rank gets its part of a step that was announced to it, of which the last
    `repeated` positions fill it up. `absent` are places of positions that the job reads by itself;
    they have no sample either.
    """

    job: Job
    positions: Positions
    samples: Samples
    offsets: Offsets
    failed: tuple[tuple[int, str], ...] = ()
    prepared: int = 0
    shared: int = 0
    repeated: int = 0
    absent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell a rank the next steps of its pass, and the key of it; it answers with `Know`."""

    job: Job
    steps: tuple[PlannedStep, ...]
    key: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """A job cannot be served; say so to it, and forget it."""

    job: Job
    reason: str


@dataclass(frozen=True, slots=True)
class Forget:
    """These samples are no longer in their slots."""

    samples: tuple[int, ...]


Instruction = Prepare | Finish | Compare | Place | Deliver | Announce | Refuse | Forget
