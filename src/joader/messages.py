"""One vocabulary for all processes: what they say to each other, and what the engine is told.

    client  → daemon   Hello            who is there, on the raw socket
    daemon  → client   Welcome          with a descriptor of the arena
    client  → daemon   Register         Join, and which nursery the job brings
    daemon  → client   Registered
    client  → nursery  Attend           serve this daemon
    nursery → daemon   Hello            by the ticket that the job has registered
    daemon  → nursery  Bear             fork workers, as there is something to do
    worker  → daemon   Hello            by the same ticket; its Welcome brings arena and desk
    nursery → daemon   Ended            how a worker's process ended
    client  → daemon   Begin            an epoch begins, or resumes after what is done
    daemon  → client   Announce         of a rank: the next steps, answered by
    client  → daemon   Know             … since none is handed out before all ranks know it
    client  → daemon   Want             as many ahead as the client likes
    daemon  → worker   Prepare          rows to prepare, and the slots they go to
    daemon  → worker   Finish           a job's own part, on samples that are prepared or underway
    worker  → daemon   Sized            the slot is too small, or there is none …
    daemon  → worker   Place, Drop      … so here is another, or nobody wants it any more
    worker  → daemon   Prepared, Failed
    daemon  → worker   HandBack         it has worked on something for long: who waits behind it …
    worker  → daemon   NotBegun         … goes to another
    daemon  → worker   Compare          prepare a row that another job has, and compare
    worker  → daemon   Compared         … byte by byte
    daemon  → client   Differs          they are not the same, so nothing is shared
    daemon  → client   Deliver          where the samples of the next batch lie
    client  → daemon   Release          copied: the slots may be used again
    daemon  → client   Refuse           why this job cannot be served

At any time AskWhy → Why (what a late batch waits for), AskStatus → Status, AskExplain → Explained.

The engine takes the same values as *events* and gives them as *instructions*; Lost, Late, Inspect
and Leave are events that the daemon itself finds out, Forget is an instruction for it alone. The
daemon adds what the engine does not know at the edge: who speaks (`job`), when (`now`), the number
of the pass, and layouts. A *sample* is the number of one prepared form of a row; jobs with equal
preparations of equal rows speak of equal samples. Lists of samples are parallel: `rows[i]` is the
row of `samples[i]`.

No code travels, and no pickle reaches the daemon: workers are born from the job that has the code.
Arrays are of int64, and travel as bytes. A layout is named by a number that the daemon gives it;
the first batch with a new number brings the layout itself.
"""

from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

PROTOCOL = 7

Job = int
Array = NDArray[np.int64]
# What all ranks of a job read at a time, of which the last so many fill it up.
PlannedStep = tuple[Array, int]
# What a peer may say at all; which of it makes sense the engine knows.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Word = Annotated[int, msgspec.Meta(ge=0)]  # msgpack ends at 2**64 - 1
Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]
Naturals = tuple[Natural, ...]
Integers = tuple[int, ...]

# What a client calls its job: the daemon knows who speaks, and puts the number in.
MY_JOB = 0
_NONE = np.empty(0, np.int64)
_NONE.flags.writeable = False


class Message(msgspec.Struct, frozen=True, tag=True):
    """A value that is never changed."""


# Who is there.


class Hello(Message, frozen=True):
    """Say who connects; `pid` is watched, so that what a job holds goes when it goes.

    `role` is "client", "nursery" or "worker"; the latter two say by which `ticket` a job has
    announced them, and a worker which of its nursery's it is.
    """

    protocol: int
    pid: int
    role: Text = "client"
    ticket: Text = ""
    number: Natural = 0


class Welcome(Message, frozen=True):
    """Answer a Hello.

    To a client the message carries a read-only descriptor of the arena, to a worker a writable one
    and its desk, to a nursery none.
    """

    protocol: int
    version: str
    pid: int
    arena_bytes: int


class Stop(Message, frozen=True):
    """Tell the daemon, a nursery or a worker to end."""


# Jobs come, read and go.


class Join(Message, frozen=True):
    """A job joins: what it reads, and how.

    `recipe` names what makes preparations equal (dataset and shared steps); `rows` holds the row of
    each position, below `row_limit`. `order` is "shared", "seeded", "given", or "told": every Want
    says which positions. `fresh`: no job may get the same preparation of a row twice (random code
    in the dataset). `own`: the job has a part of its own, done on each sample for it alone. Ranks
    of one job join the `team` of that name, each with its number. `reads_itself`: it takes what is
    here, and reads the rest by itself; nothing is prepared for it.
    """

    job: Job
    recipe: Text
    rows: Array
    row_limit: Natural
    batch_size: Natural
    order: Text = "shared"
    seed: Word = 0
    fresh: bool = False
    own: bool = False
    team: Text = ""
    rank: Natural = 0
    world_size: Natural = 1
    drop_last: bool = False  # matters to teams, whose last step is filled up otherwise
    reads_for: Text = ""  # the loader: no two of its passes get the same random sample
    reads_itself: bool = False


class Register(Message, frozen=True):
    """Join, as a client says it: with what the daemon must know of the job beside the engine."""

    join: Join
    name: Text
    ticket: Text = ""  # of its nursery; empty: it reads by itself what others have not prepared
    workers: Natural = 0  # the most it lends; 0: its share of the cores
    lends: bool = True  # its workers prepare for others, too, while they have nothing to do
    compare: bool = True  # its rows are to be compared with what others have prepared
    waits: bool = False  # its rows wait for a network, so a worker begins many at a time
    timeout_s: float = 120.0  # how long a batch may take, and so a row
    table: Text = ""  # of the catalog, with its version: name@3
    ground: Text = ""  # how rows are read and prepared, whatever the dataset consists of
    pieces: tuple[tuple[Text, Natural], ...] = ()  # of the dataset, with their rows
    about: bytes = b""  # what `joader explain` says of it, as JSON


class Registered(Message, frozen=True):
    """Say that the job is known, and by which number."""

    job: Job


class Begin(Message, frozen=True):
    """A job begins a pass; positions of `done` were yielded before.

    The pass's random numbers start from `key`, of ranks from that of rank 0; it is the same when a
    pass goes on elsewhere. A rank that goes on says how many steps it has `taken` since it began,
    and what it knows of those to come.
    """

    job: Job
    epoch: Natural = 0
    done: Array = _NONE
    key: Word = 0
    taken: Natural = 0
    plan: tuple[PlannedStep, ...] = ()
    number: Natural = 0  # batches carry it: those of a pass that was broken off may still come
    renew: bool = False  # workers of the pass before end, and with them what user code keeps there


class Announce(Message, frozen=True):
    """Tell a rank the next steps of its pass, and the key of it; it answers with `Know`."""

    job: Job
    steps: tuple[PlannedStep, ...]
    key: int
    number: int = 0


class Know(Message, frozen=True):
    """A rank knows so many steps of its pass, counted from where it began."""

    job: Job
    count: Natural
    number: Natural = 0


class Want(Message, frozen=True):
    """A job wants its next `count` samples, as one delivery; in the order "told", these positions.

    `times`: how often each of these came before in this pass; None: none did.
    """

    job: Job
    count: Natural
    now: float = 0.0  # the daemon's clock, whatever the client says
    positions: Array | None = None
    times: Array | None = None


class Deliver(Message, frozen=True):
    """Hand a job its next positions, in order; of those in `failed`, with the reason, no sample.

    Of the samples `prepared` count as prepared for this job, the others are hits; `shared` of
    these were prepared for another job. For jobs that are told, positions are their numbers in the
    order they were told. A rank gets its part of a step that was announced to it, of which the last
    `repeated` positions fill it up. `absent` are places of positions that nobody has prepared, and
    that the job reads by itself; they have no sample either.
    """

    job: Job
    positions: Array
    samples: Array
    offsets: Array
    failed: tuple[tuple[int, str], ...] = ()
    prepared: int = 0
    shared: int = 0
    repeated: int = 0
    absent: Array = _NONE
    number: int = 0  # of the pass
    layouts: Integers = ()
    new_layouts: dict[int, bytes] = {}
    forget_layouts: bool = False  # the numbers of layouts that came before mean nothing any more


class Release(Message, frozen=True):
    """A job has copied these samples out of their slots."""

    job: Job
    samples: Array


class Leave(Message, frozen=True):
    """A job is gone, by its will or not: all it held is free."""

    job: Job


class Refuse(Message, frozen=True):
    """Say why a job cannot be served; the connection ends."""

    reason: str
    job: Job = 0


# What workers do.


class Prepare(Message, frozen=True):
    """Prepare rows of a recipe, for this job first, and write them to their slots.

    An offset of -1: there is no slot yet, so say `Sized`. The random numbers of each start from the
    pass's key, the position, and how often that came before in it.
    """

    recipe: str
    job: Job
    key: int
    samples: Integers
    rows: Integers
    positions: Integers
    times: Integers
    offsets: Integers
    sizes: Integers


class Finish(Message, frozen=True):
    """Do a job's own part on prepared samples, and write the results to slots of their own.

    A source is ready, and its layout known, or it was said to be prepared before this (source
    offset -1, no layout) and lies in its slot before long.
    """

    job: Job
    key: int
    samples: Integers
    sources: Integers
    source_offsets: Integers
    positions: Integers
    times: Integers
    offsets: Integers
    sizes: Integers
    layouts: tuple[bytes, ...] = ()  # of the sources


class Place(Message, frozen=True):
    """Write samples that were `Sized` to these slots."""

    samples: Integers
    offsets: Integers
    sizes: Integers


class Drop(Message, frozen=True):
    """Forget samples that were `Sized`: nobody wants them any more."""

    samples: Integers


class Compare(Message, frozen=True):
    """Prepare a row that is in a slot already, and compare: jobs that share must agree."""

    job: Job
    sample: int
    recipe: str
    row: int
    offset: int
    layout: bytes = b""


class HandBack(Message, frozen=True):
    """Ask a busy worker to return the rows it has not begun, so that others can take them."""


class Prepared(Message, frozen=True):
    """Samples are in their slots, all of one layout; each takes so many bytes, 0: all of its slot.

    What it keeps of a slot is cut to that size.
    """

    samples: Naturals
    size_bytes: Natural = 0
    layout: bytes = b""


class Sized(Message, frozen=True):
    """Samples are prepared but do not fit their slots, or have none: how many bytes they need."""

    samples: Naturals
    sizes: Naturals


class Failed(Message, frozen=True):
    """A sample could not be prepared: the step and the original traceback.

    The first line names the exception's class, as module and qualified name (see `raised`).
    """

    sample: int
    reason: str


class Compared(Message, frozen=True):
    """A job's worker has prepared what is here once more; was it the same?"""

    job: Job
    sample: Natural
    same: bool = True


class NotBegun(Message, frozen=True):
    """Answer HandBack: the worker has nothing to do with these samples any more."""

    samples: Integers


class Lost(Message, frozen=True):
    """The worker that prepared these samples died, by them (`blamed`) or with them in hand."""

    samples: Integers
    reason: str
    blamed: bool = True


class Late(Message, frozen=True):
    """The worker that has these samples does not answer, and may still write to their slots.

    Told again and again, as others may come to wait for them, or find room now. Own parts that wait
    for one of them in nobody's hands are forgotten by who says so: they are told anew.
    """

    samples: Integers


class Inspect(Message, frozen=True):
    """A job's workers are to show that they prepare as others did, before it gets anything."""

    job: Job


class Forget(Message, frozen=True):
    """These samples are no longer in their slots."""

    samples: Integers


# Workers come and go.


class Attend(Message, frozen=True):
    """Tell a nursery which daemon to serve, and by which ticket; it leaves the one before."""

    path: str
    ticket: str
    daemon: int = 0  # its process: another may listen at the same path


class Born(Message, frozen=True):
    """Say that a nursery is ready, what its recipe is called there, and why it is not comparable.

    Under spawn and forkserver the code was loaded anew: its name counts, not that in the job.
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


# Questions.


class Differs(Message, frozen=True):
    """Tell a client that a row of its recipe comes out otherwise in its workers."""

    row: int


class AskWhy(Message, frozen=True):
    """Ask what the job's next batch waits for."""


class Why(Message, frozen=True):
    """Answer AskWhy in words: which row, where it is, since when.

    `patience`: it waits for other ranks of its job, which are all here and may have other work.
    `more_s`: the row it waits for takes long, and is given up in so many seconds.
    """

    text: str
    patience: bool = False
    more_s: float = 0.0


class AskStatus(Message, frozen=True):
    """Ask for everything `joader status` shows."""


class Status(Message, frozen=True):
    """Answer AskStatus with JSON."""

    body: bytes


class AskExplain(Message, frozen=True):
    """Ask what two jobs share."""

    one: int
    other: int


class Explained(Message, frozen=True):
    """Answer AskExplain with JSON."""

    body: bytes


FromClient = Register | Begin | Know | Want | Release | AskWhy | AskStatus | AskExplain | Stop
ToClient = Registered | Announce | Deliver | Differs | Refuse | Why | Status | Explained
ToWorker = Prepare | Finish | Compare | Place | Drop | HandBack | Stop
FromWorker = Prepared | Sized | Failed | Compared | NotBegun
ToNursery = Bear | Slay | Stop
FromNursery = Ended | Unborn
ToChild = Attend | Stop  # from the job to its nursery
FromChild = Born | Unborn

Event = (
    Join
    | Begin
    | Want
    | Know
    | Prepared
    | Sized
    | Failed
    | Lost
    | Late
    | Inspect
    | Compared
    | Release
    | Leave
)
Instruction = Prepare | Finish | Compare | Place | Drop | Deliver | Announce | Refuse | Forget


def as_bytes(value: Any) -> bytes:
    """Return an array of integers as it travels."""
    if isinstance(value, np.ndarray):
        return np.asarray(value, "<i8").tobytes()
    raise NotImplementedError(f"{type(value).__name__} does not travel")


def from_bytes(kind: type, data: Any) -> Array:
    """Return the array again; it is read-only."""
    if not isinstance(data, bytes | bytearray | memoryview) or len(data) % 8:
        raise ValueError("not an array of 8-byte integers")
    return np.frombuffer(data, "<i8").astype(np.int64, copy=False)
