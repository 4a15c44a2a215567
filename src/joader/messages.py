"""The values that travel between processes, in the order they do.

    client  → daemon   Hello            who is there, on the raw socket
    daemon  → client   Welcome          with a descriptor of the arena
    client  → daemon   Register         what the job reads, and how
    daemon  → client   NeedBody         the recipe is new here: send its code …
    client  → daemon   Body             … as cloudpickle, for workers of the same user only
    daemon  → client   Registered
    client  → daemon   StartPass        an epoch begins, or goes on after what is done
    daemon  → client   PlanAhead        of a rank: the steps that come, answered by
    client  → daemon   PlanKnown        … since none is handed out before all ranks know it
    client  → daemon   NextBatch        as many ahead as the client likes
    daemon  → worker   Cook             a row to prepare, and the slot it goes to
    daemon  → worker   Finish           a job's own part, on a sample that is prepared or on its way
    worker  → daemon   TooBig           the slot is too small, or there is none …
    daemon  → worker   PutAt            … so here is another
    worker  → daemon   Cooked, CookedEach, Spoiled
    daemon  → worker   HandBack         it is long at something: who waits behind it …
    worker  → daemon   NotBegun         … goes to another
    daemon  → client   BatchReady       where the samples of the next batch lie
    client  → daemon   GiveBack         copied: the slots may be used again
    daemon  → client   Refused          why this job cannot be served

At any time AskWhy → Why (what a late batch waits for), AskStatus → Status, AskExplain → Explained.

Rows, positions and offsets are int64 arrays, as bytes. A layout is named by a number that the
daemon gives it; the first batch with a new number brings the layout itself.
"""

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadMessage

PROTOCOL = 5

Packed = bytes
# What a peer may say at all; which of it makes sense the engine knows.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Word = Annotated[int, msgspec.Meta(ge=0)]  # msgpack ends at 2**64 - 1
Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]


class Hello(msgspec.Struct, frozen=True, tag=True):
    """Say who connects; `pid` is watched, so that what a job holds goes when it goes."""

    protocol: int
    pid: int


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """Answer a Hello; the message carries a read-only descriptor of the arena."""

    protocol: int
    version: str
    pid: int
    arena_bytes: int


class Environment(msgspec.Struct, frozen=True):
    """Where a job's code runs: its interpreter, import path and folder."""

    interpreter: Text
    path: Annotated[tuple[Text, ...], msgspec.Meta(max_length=1 << 12)]
    folder: Text


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
    environment: Environment
    code_time: float = 0.0  # when the job's own modules were last changed
    own: bytes = b""  # the job's own part, cloudpickled; empty: it takes samples as they are
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


class NeedBody(msgspec.Struct, frozen=True, tag=True):
    """Ask for the code of a recipe."""


class Body(msgspec.Struct, frozen=True, tag=True):
    """Bring the code of a recipe: a cloudpickled dataset."""

    body: bytes


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Say that the job is known, and by which number."""

    job: int


class StartPass(msgspec.Struct, frozen=True, tag=True):
    """Begin a pass; positions of `done` were yielded before.

    Batches carry the pass's number: those of a pass that was broken off may still be on their way.
    `key` is where the pass's randomness comes from; it is the same when a pass goes on elsewhere.
    A rank that goes on elsewhere says how many steps it has yielded, and which it knows.
    """

    number: Natural
    epoch: Natural
    key: Word
    done: Packed = b""
    taken: Natural = 0
    plan: tuple[tuple[Packed, Natural], ...] = ()


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
    recipe: str
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


class OwnBody(msgspec.Struct, frozen=True, tag=True):
    """Bring a worker a job's own part; empty: forget it."""

    job: int
    body: bytes


class RecipeBody(msgspec.Struct, frozen=True, tag=True):
    """Bring a worker the code of a recipe; empty: forget it."""

    recipe: str
    body: bytes


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
    """Ask a worker for what it has not begun: it is long at something, and others need not wait."""


class NotBegun(msgspec.Struct, frozen=True, tag=True):
    """Answer HandBack: the worker has nothing to do with these samples any more."""

    samples: tuple[int, ...]


class Spoiled(msgspec.Struct, frozen=True, tag=True):
    """Say that a sample cannot be prepared: the step and the original traceback."""

    sample: int
    reason: str


class BatchReady(msgspec.Struct, frozen=True, tag=True):
    """Tell a client its next positions, in order, and where their samples lie.

    Positions in `failed`, with the reason why, have no sample.
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
    """Tell the daemon, or a worker, to end."""


FromClient = (
    Register
    | Body
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
ToClient = Registered | NeedBody | PlanAhead | BatchReady | Refused | Why | Status | Explained
ToWorker = Cook | Finish | RecipeBody | OwnBody | PutAt | HandBack | Stop
FromWorker = Cooked | CookedEach | TooBig | Spoiled | NotBegun


def packed(values: ArrayLike) -> Packed:
    """Return an array of integers as bytes."""
    return np.asarray(values, "<i8").tobytes()


def unpacked(data: Packed) -> NDArray[np.int64]:
    """Return the array again; it is read-only."""
    if len(data) % 8:
        raise BadMessage(f"{len(data)} bytes are no array of 8-byte integers")
    return np.frombuffer(data, "<i8").astype(np.int64, copy=False)
