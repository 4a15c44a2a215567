"""Jobs come, read and go."""

import msgspec

from joader.messages.fields import (
    NONE,
    Array,
    Integers,
    Job,
    Message,
    Natural,
    PlannedStep,
    Text,
    Word,
)
from joader.messages.settings import JobSettings


class Join(Message, frozen=True):
    """A job joins: what it reads, and how.

    `recipe` names what makes preparations equal (dataset and shared steps); `rows` holds the row of
    each position, below `row_limit`. `order` is "shared" (streams), "joint", "seeded", "given", or
    "told": every Want says which positions. `fresh`: no job may get the same preparation of a row
    twice (random code in the dataset). `own`: the job has a part of its own, done on each sample
    for it alone. Ranks of one job join the `team` of that name, each with its number.
    `reads_itself`: it takes what is here, and reads the rest by itself; nothing is prepared for it.
    `stored`: the recipe of the same rows as they are stored, if reading them is apart from what is
    done to them; its samples are their raw forms.
    """

    job: Job
    recipe: Text
    rows: Array
    row_limit: Natural
    batch_size: Natural
    order: Text = "shared"
    seed: Word | None = None  # of the order "seeded", or for a stream if all its jobs give it
    fresh: bool = False
    own: bool = False
    team: Text = ""
    rank: Natural = 0
    world_size: Natural = 1
    drop_last: bool = False  # matters to teams, whose last step is filled up otherwise
    # The process, or team: no two of its passes get the same random sample, and those it reads one
    # after the other are one job in a stream.
    reads_for: Text = ""
    reads_itself: bool = False
    # A node that fetches rows for its own jobs: it has no pass, so nothing is kept for it.
    elsewhere: bool = False
    # Where the orders of its recipe start on all nodes of a cluster; 0: it is in none.
    stream: Word = 0
    stored: Text = ""
    ranks_here: Natural = 0  # how many ranks of its team are on this node; 0: it does not know
    remote: bool = False  # a rank that is planned for here, and gets its samples on its own node


class Register(Message, frozen=True):
    """Join, as a client sends it, with what only the daemon has to know of the job."""

    join: Join
    settings: JobSettings
    ticket: Text = ""  # of its nursery; empty: it reads by itself what others have not prepared
    workers: Natural = 0  # the most it lends; 0: its share of the cores
    compare: bool = True  # a few rows are compared with other jobs' samples
    waits: bool = False  # its rows wait for a network, so a worker begins many at a time
    home: Text = ""  # where its workers run: cgroup and affinity
    cores: Natural = 0  # how many of them that home can keep busy; 0: it does not say
    table: Text = ""  # of the catalog, with its version: name@3
    ground: Text = ""  # how rows are read and prepared, whatever the dataset consists of
    stored_ground: Text = ""  # … and how they are read only
    pieces: tuple[tuple[Text, Natural], ...] = ()  # of the dataset, with their rows
    about: bytes = b""  # what `joader explain` says of it, as JSON
    everywhere: Text = ""  # what its recipe is called on any machine; empty: it is of this one
    # That its script was started with: what each is, and how it reads.
    options: tuple[tuple[Text, Text], ...] = ()


class Registered(Message, frozen=True):
    """Say that the job is known, by which number and name, and to which life of the daemon."""

    job: Job
    life: Word = 0
    label: Text = ""  # what it is called on every screen


class Named(Message, frozen=True):
    """Tell a job what it is called from now on: a run has come that differs in something new."""

    job: Job
    label: Text


class Begin(Message, frozen=True):
    """A job begins a pass; positions of `done` were yielded before.

    The pass's random numbers start from `key`, of ranks from that of rank 0; it is the same when a
    pass goes on elsewhere. A rank that goes on says how many steps it has `taken` since it began,
    and what it knows of those to come. `life`: of the daemon that it drew from before, for another
    than it reads for now; 0: none.
    """

    job: Job
    epoch: Natural = 0
    done: Array = NONE
    key: Word = 0
    taken: Natural = 0
    plan: tuple[PlannedStep, ...] = ()
    number: Natural = 0  # batches carry it: those of a pass that was broken off may still come
    life: Word = 0
    renew: bool = False  # workers of the pass before end, and with them what user code keeps there


class Hear(Message, frozen=True):
    """How far jobs on other nodes are in the streams of a recipe: see `sampling.Clock`.

    `past`: the latest generation that was ever opened on any node.
    """

    recipe: Text
    stream: Word
    clocks: tuple[tuple[int, int, int, int], ...] = ()
    past: Natural = 0


class Reassign(Message, frozen=True):
    """Steps of a rank's team that are planned from now on are of this version: see `Assign`."""

    job: Job
    version: int


class Announce(Message, frozen=True):
    """Tell a rank the next steps of its pass, and the key of it; it answers with `Know`."""

    job: Job
    steps: tuple[PlannedStep, ...]
    key: int
    number: int = 0


class Know(Message, frozen=True):
    """A rank knows the first `count` steps of its pass, counted from where it began."""

    job: Job
    count: Natural
    number: Natural = 0


class Want(Message, frozen=True):
    """A job wants its next `count` samples, as one delivery; in the order "told", these positions.

    `times`: how often each of these came before in this pass; None: none did. `step_s`, `wait_s`:
    how long the job took for the batch it had last, and how long it waited for it before; 0 for the
    first batches, which are asked for at once. Of `step_s` it read rows by itself for `read_s`, and
    made the batch for `collate_s`; in both its process computed for `cpu_s`, in all its threads.
    """

    job: Job
    count: Natural
    now: float = 0.0  # by the daemon's clock, which replaces the client's
    positions: Array | None = None
    times: Array | None = None
    step_s: float = 0.0
    wait_s: float = 0.0
    read_s: float = 0.0
    collate_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0  # how long its loader has waited for batches so far
    others: Array | None = None  # positions that other ranks read now: not needed any more


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
    absent: Array = NONE
    number: int = 0  # of the pass
    layouts: Integers = ()
    new_layouts: dict[int, bytes] = msgspec.field(default_factory=dict)
    forget_layouts: bool = False  # the numbers of layouts that came before mean nothing any more


class Release(Message, frozen=True):
    """A job has copied these samples out of their slots."""

    job: Job
    samples: Array


class Leave(Message, frozen=True):
    """A job is gone, on purpose or not: all it held is free."""

    job: Job


class Refuse(Message, frozen=True):
    """Say why a job cannot be served; the connection ends."""

    reason: str
    job: Job = 0
