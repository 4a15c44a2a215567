"""The values that travel between processes, in the order they do.

    client  → daemon   Hello            who is there, on the raw socket
    daemon  → client   Welcome          with a descriptor of the arena
    client  → daemon   Register         what the job reads, how, and which nursery it brings
    daemon  → client   Registered
    client  → nursery  Attend           serve this daemon
    nursery → daemon   Hello            by the ticket that the job has registered
    daemon  → nursery  Bear             fork workers, as there is something to do
    worker  → daemon   Hello            by the same ticket; its Welcome brings arena and desk
    nursery → daemon   Ended            how a worker's process ended
    client  → daemon   StartPass        an epoch begins, or goes on after what is done
    daemon  → client   PlanAhead        of a rank: the steps that come, answered by
    client  → daemon   PlanKnown        … since none is handed out before all ranks know it
    client  → daemon   NextBatch        as many ahead as the client likes
    daemon  → worker   Cook             a row to prepare, and the slot it goes to
    daemon  → worker   Finish           a job's own part, on a sample that is prepared or on its way
    worker  → daemon   TooBig           the slot is too small, or there is none …
    daemon  → worker   PutAt            … so here is another
    worker  → daemon   Cooked, CookedEach, Spoiled
    daemon  → worker   HandBack         it has worked on something for long: who waits behind it …
    worker  → daemon   NotBegun         … goes to another
    daemon  → worker   Check            prepare a row that another job has, and compare
    worker  → daemon   Checked          … byte by byte
    daemon  → client   Differs          they are not the same, so nothing is shared
    daemon  → client   BatchReady       where the samples of the next batch lie
    client  → daemon   GiveBack         copied: the slots may be used again
    daemon  → client   Refused          why this job cannot be served

At any time AskWhy → Why (what a late batch waits for), AskStatus → Status, AskExplain → Explained.

No code travels, and no pickle reaches the daemon: workers are born from the job that has the code.
Rows, positions and offsets are int64 arrays, as bytes. A layout is named by a number that the
daemon gives it; the first batch with a new number brings the layout itself.
"""

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadMessage

PROTOCOL = 6

Packed = bytes
# What a peer may say at all; which of it makes sense the engine knows.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Word = Annotated[int, msgspec.Meta(ge=0)]  # msgpack ends at 2**64 - 1
Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]


class Hello(msgspec.Struct, frozen=True, tag=True):
    """Say who connects; `pid` is watched, so that what a job holds goes when it goes.

    `role` is "client", "nursery" or "worker"; the latter two say by which `ticket` a job has
    announced them, and a worker which of its nursery's it is.
    """

    protocol: int
    pid: int
    role: Text = "client"
    ticket: Text = ""
    number: Natural = 0


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """Answer a Hello.

    To a client the message carries a read-only descriptor of the arena, to a worker a writable one
    and its desk, to a nursery none.
    """

    protocol: int
    version: str
    pid: int
    arena_bytes: int


class Register(msgspec.Struct, frozen=True, tag=True):
    """Describe a job: see `engine.values.Join`."""

    name: Text
    recipe: Text
    rows: Packed
    row_limit: Natural
    batch_size: Natural
    order: Text
    seed: Word
    fresh: bool
    own: bool = False  # it has a part of its own, done in its own workers
    ticket: Text = ""  # of its nursery; empty: it reads by itself what others have not prepared
    workers: Natural = 0  # the most it lends; 0: its share of the cores
    lends: bool = True  # its workers prepare for others, too, while they have nothing to do
    compare: bool = True  # its rows are to be compared with what others have prepared
    waits: bool = False  # its rows wait for a network, so a worker begins many at a time
    team: Text = ""  # of a rank: its job, and which rank of how many it is
    rank: Natural = 0
    world_size: Natural = 1
    drop_last: bool = False
    timeout_s: float = 120.0  # how long a batch may take, and so a row
    reads_for: Text = ""  # the loader: no two of its passes get the same random sample
    table: Text = ""  # of the catalog, with its version: name@3
    ground: Text = ""  # how rows are read and prepared, whatever the dataset consists of
    pieces: tuple[tuple[Text, Natural], ...] = ()  # of the dataset, with their rows
    about: bytes = b""  # what `joader explain` says of it, as JSON


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Say that the job is known, and by which number."""

    job: int


class StartPass(msgspec.Struct, frozen=True, tag=True):
    """Begin a pass; positions of `done` were yielded before.

    Batches carry the pass's number: those of a pass that was broken off may still be on their way.
    `key` is where the pass's randomness comes from; it is the same when a pass goes on elsewhere.
    A rank that goes on elsewhere says how many steps it has yielded, and which it knows.
    `renew`: workers of the pass before end, so that state that user code keeps there ends, too.
    """

    number: Natural
    epoch: Natural
    key: Word
    done: Packed = b""
    taken: Natural = 0
    plan: tuple[tuple[Packed, Natural], ...] = ()
    renew: bool = False


class PlanAhead(msgspec.Struct, frozen=True, tag=True):
    """Tell a rank the next steps of its pass: positions of all ranks, how many fill it up."""

    number: int
    steps: tuple[tuple[Packed, int], ...]
    key: int  # where the random numbers of the pass start


class PlanKnown(msgspec.Struct, frozen=True, tag=True):
    """Say how many steps of its pass a rank knows: no rank gets one before all know it."""

    number: Natural
    count: Natural


class NextBatch(msgspec.Struct, frozen=True, tag=True):
    """Ask for the next `count` samples as one batch; in the order "told", for these positions.

    `times` says how often each came before in this pass; without it, none did.
    """

    count: Natural
    positions: Packed = b""
    times: Packed = b""


class Cook(msgspec.Struct, frozen=True, tag=True):
    """Prepare a row; offset -1: there is no slot yet."""

    sample: int
    row: int
    offset: int
    size_bytes: int
    key: int  # what the user's random numbers start from


class Finish(msgspec.Struct, frozen=True, tag=True):
    """Apply a job's own part to a prepared sample, and write the result to a slot of its own.

    Without a `layout` the source is still in this worker's hands and lies in its slot before long.
    """

    sample: int
    job: int
    source: int
    source_offset: int
    layout: bytes
    offset: int
    size_bytes: int
    key: int


class Check(msgspec.Struct, frozen=True, tag=True):
    """Prepare a row that is in a slot already, and compare: jobs that share must agree."""

    sample: int
    row: int
    offset: int
    layout: bytes
    size_bytes: int = 0  # it writes nothing


class Checked(msgspec.Struct, frozen=True, tag=True):
    """Say whether a row came out as it lies in its slot."""

    sample: Natural
    same: bool


class Differs(msgspec.Struct, frozen=True, tag=True):
    """Tell a client that a row of its recipe comes out otherwise in its workers."""

    row: int


class TooBig(msgspec.Struct, frozen=True, tag=True):
    """Say how many bytes a prepared sample needs."""

    sample: Natural
    size_bytes: Natural


class PutAt(msgspec.Struct, frozen=True, tag=True):
    """Give a sample that was too big its slot; offset -1: there is none for it, drop it."""

    sample: int
    offset: int
    size_bytes: int


class Cooked(msgspec.Struct, frozen=True, tag=True):
    """Say that a sample is in its slot, and how it lies there."""

    sample: Natural
    layout: bytes
    size_bytes: Natural


class CookedEach(msgspec.Struct, frozen=True, tag=True):
    """Say of several samples that they are in their slots, all of one layout and size."""

    samples: tuple[Natural, ...]
    layout: bytes
    size_bytes: Natural


class HandBack(msgspec.Struct, frozen=True, tag=True):
    """Ask a worker for what it has not begun: it is busy for long, and others need not wait."""


class NotBegun(msgspec.Struct, frozen=True, tag=True):
    """Answer HandBack: the worker has nothing to do with these samples any more."""

    samples: tuple[int, ...]


class Spoiled(msgspec.Struct, frozen=True, tag=True):
    """Say that a sample cannot be prepared: the step and the original traceback.

    The first line names the exception's class, as module and qualified name (see `raised`).
    """

    sample: int
    reason: str


class BatchReady(msgspec.Struct, frozen=True, tag=True):
    """Tell a client its next positions, in order, and where their samples lie.

    Positions in `failed`, with the reason why, have no sample. Nor have those in `absent`, which
    nobody has prepared: a job without workers reads them by itself.
    """

    number: int
    positions: Packed
    samples: Packed
    offsets: Packed
    layouts: tuple[int, ...]
    new_layouts: dict[int, bytes] = {}
    failed: tuple[tuple[int, str], ...] = ()
    prepared: int = 0  # of these samples; the others were here
    shared: int = 0  # were here because another job needed them
    repeated: int = 0  # of a rank: how many positions, of all ranks, fill this step up
    absent: Packed = b""  # places in `positions`
    forget_layouts: bool = False  # the numbers of layouts that came before mean nothing any more


class GiveBack(msgspec.Struct, frozen=True, tag=True):
    """Say that these samples were copied out of their slots."""

    samples: Packed


class TakeBackPlan(msgspec.Struct, frozen=True, tag=True):
    """Drop what was planned beyond what was delivered, and what is wanted."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Say why a job cannot be served; the connection ends."""

    reason: str


class AskWhy(msgspec.Struct, frozen=True, tag=True):
    """Ask what the job's next batch waits for."""


class Why(msgspec.Struct, frozen=True, tag=True):
    """Answer AskWhy in words: which row, where it is, since when.

    `patience`: it waits for other ranks of its job, which are all here and may have other work.
    `more_s`: the row it waits for takes long, and is given up in so many seconds.
    """

    text: str
    patience: bool = False
    more_s: float = 0.0


class AskStatus(msgspec.Struct, frozen=True, tag=True):
    """Ask for everything `joader status` shows."""


class Status(msgspec.Struct, frozen=True, tag=True):
    """Answer AskStatus with JSON."""

    body: bytes


class AskExplain(msgspec.Struct, frozen=True, tag=True):
    """Ask what two jobs share."""

    one: int
    other: int


class Explained(msgspec.Struct, frozen=True, tag=True):
    """Answer AskExplain with JSON."""

    body: bytes


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Tell the daemon, a nursery or a worker to end."""


class Attend(msgspec.Struct, frozen=True, tag=True):
    """Tell a nursery which daemon to serve, and by which ticket; it leaves the one before."""

    path: str
    ticket: str
    daemon: int = 0  # its process: another may listen at the same path


class Born(msgspec.Struct, frozen=True, tag=True):
    """Say that a nursery is ready, what its recipe is called there, and why it is not comparable.

    Under spawn and forkserver the code was loaded anew: its name counts, not that in the job.
    """

    recipe: str = ""
    opaque: str = ""
    place: str = ""


class Unborn(msgspec.Struct, frozen=True, tag=True):
    """Say why a nursery cannot serve: no worker can be forked, or the daemon lets nobody in."""

    reason: str


class Bear(msgspec.Struct, frozen=True, tag=True):
    """Tell a nursery to fork a worker of this number."""

    number: int


class Ended(msgspec.Struct, frozen=True, tag=True):
    """Say how a worker's process ended: its exit code, or less than 0, the signal."""

    number: Natural
    pid: Natural
    code: int


class Slay(msgspec.Struct, frozen=True, tag=True):
    """Tell a nursery to kill a worker that the daemon cannot reach."""

    number: int


FromClient = (
    Register
    | StartPass
    | PlanKnown
    | NextBatch
    | GiveBack
    | TakeBackPlan
    | AskWhy
    | AskStatus
    | AskExplain
    | Stop
)
ToClient = Registered | PlanAhead | BatchReady | Differs | Refused | Why | Status | Explained
ToWorker = Cook | Finish | Check | PutAt | HandBack | Stop
FromWorker = Cooked | CookedEach | TooBig | Spoiled | Checked | NotBegun
ToNursery = Bear | Slay | Stop
FromNursery = Ended | Unborn
ToChild = Attend | Stop  # from the job to its nursery
FromChild = Born | Unborn


def packed(values: ArrayLike) -> Packed:
    """Return an array of integers as bytes."""
    return np.asarray(values, "<i8").tobytes()


def unpacked(data: Packed) -> NDArray[np.int64]:
    """Return the array again; it is read-only."""
    if len(data) % 8:
        raise BadMessage(f"{len(data)} bytes are no array of 8-byte integers")
    return np.frombuffer(data, "<i8").astype(np.int64, copy=False)
