"""The figures of a node: frozen values that rooms return, and screens show.

Every room that has figures has one method, `statistics()`. It returns one of these, or a tuple of
them; the daemon puts them together, and `joader status --json` prints the result key by key. So a
name here is a name that scripts rely on: add fields, with a default, but do not rename them.

Invariant: delivered == prepared + hits, and shared <= hits. Not here: what one loader counts in its
own process (client/counts.py).

Counts are of rooms that know them; what is per second, or of late, comes from their differences
(daemon/history.py). No screen works anything out: what is shown is here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from joader.version import __version__


@dataclass(frozen=True, slots=True)
class ReadStatistics:
    """What was read: `hits` were there already; `shared` hits were prepared for another job."""

    delivered: int = 0
    prepared: int = 0
    hits: int = 0
    shared: int = 0

    def __add__(self, other: "ReadStatistics") -> "ReadStatistics":
        """Return both together."""
        return ReadStatistics(
            delivered=self.delivered + other.delivered,
            prepared=self.prepared + other.prepared,
            hits=self.hits + other.hits,
            shared=self.shared + other.shared,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisStatistics:
    """What limits a job, or the node, and what to do about it; `schedule/diagnosis.py` says so.

    `kind`: "computing", "storage", "core" (other programs have the cores), "share" (other jobs have
    the workers), "collate" (in the job), "training" (nothing to gain) or "starting" (not known).
    """

    kind: str = "starting"
    says: str = ""  # one sentence
    do: str = ""  # what helps; empty: nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStatistics:
    """What a job's process does with its time, of late: parts of it, 0 to 1."""

    batches: int = 0  # measured
    batch_s: float = 0.0  # what one takes, all parts together
    waiting: float = 0.0  # for rows from others
    reading: float = 0.0  # rows, by itself
    collating: float = 0.0
    cores: float = 0.0  # that the process keeps busy


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStatistics:
    """What workers spend on a row that a job waits for, of late, whoever prepares it."""

    computing_s: float = 0.0
    storage_s: float = 0.0  # waiting for a storage
    core_s: float = 0.0  # waiting for a core
    own_s: float = 0.0  # of all that: for the job's own part


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStatistics:
    """What a job needs of the workers' time, and gets; in worker-seconds per second."""

    weight: float = 1.0
    needed: float | None = 0.0  # what its rows compute if it never waits; None: all that there is
    share: float = 0.0  # what its policy gives it
    used: float = 0.0  # what workers computed for it, of late
    wanted_per_s: float | None = None  # samples, if it never waited; None: not known
    predicted_per_s: float = 0.0  # samples, with its share
    per_s: float = 0.0  # samples, as measured
    slowdown: float = 1.0  # how many times as long a batch takes as without waiting
    reason: str = ""  # why it gets what it gets
    work: WorkStatistics = WorkStatistics()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStatistics:
    """What is divided among jobs, and by which policy."""

    policy: str = ""
    cores: int = 0
    cpu: float = 1.0  # which part of them may be used
    active: float = 0.0  # processors that workers may keep busy at a time
    knee: int = 0  # more workers at once would not prepare more
    computing: float = 0.0  # processors that they keep busy now


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatistics:
    """Where the samples of a pass are on their way to the job, those read already left out."""

    to_come: int = 0  # not drawn yet
    planned: int = 0  # drawn, and not asked for
    preparing: int = 0  # asked for: a worker has it, or it waits for one
    ready: int = 0  # in memory, for a batch to come
    held: int = 0  # delivered; the job copies it

    def __add__(self, other: "FlowStatistics") -> "FlowStatistics":
        """Return both together."""
        return FlowStatistics(
            to_come=self.to_come + other.to_come,
            planned=self.planned + other.planned,
            preparing=self.preparing + other.preparing,
            ready=self.ready + other.ready,
            held=self.held + other.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatistics:
    """One job: who reads, how far it is in its pass, and what it has read in all its passes."""

    id: int
    name: str
    table: str  # of the catalog, with its version; empty: another dataset
    pid: int
    rank: int
    world_size: int
    epoch: int
    position: int  # samples of its pass that it got, those before a checkpoint included
    delivered: int
    prepared: int
    hits: int
    shared: int
    schedule: ShareStatistics | None = None  # None: it brings no workers
    dataset: str = ""  # as it says
    rows: int = 0  # of a pass, as far as it is known
    done: float = 0.0  # part of its pass, 0 to 1
    shares_with: tuple[int, ...] = ()  # jobs that prepare the same rows in the same way
    taken_from: Mapping[int, int] = field(default_factory=dict)  # hits, by whom they came from
    wait_s: float = 0.0  # that its process has waited for batches, as it says
    row_s: float = 0.0  # what a row takes a worker, of late; 0: not known yet
    computing_s: float = 0.0  # of row_s, with a processor
    storage_s: float = 0.0  # of row_s, waiting for a storage
    core_s: float = 0.0  # of row_s, waiting for a processor that others have
    own_row_s: float = 0.0  # what its own part of a row takes
    saved_s: float = 0.0  # worker time that its hits would have taken
    saved_cpu_s: float = 0.0  # of that, with a processor
    saved: float | None = None  # which part of its work; None: it has got nothing yet
    wait_per_sample_s: float = 0.0
    samples_per_s: float = 0.0  # of late, as the next three
    waiting: float = 0.0  # part of the time, 0 to 1
    time_left_s: float | None = None  # of its pass; None: it does not move
    worker_share: float = 0.0  # part of all work that was done for it, 0 to 1
    why: str = ""  # it has these workers, in words
    flow: FlowStatistics = FlowStatistics()
    time: TimeStatistics = TimeStatistics()
    diagnosis: DiagnosisStatistics = DiagnosisStatistics()
    label: str = ""  # what it is called on every screen: its name, options, rank
    began: float = 0.0  # in seconds since 1970, as the next
    ended: float = 0.0  # 0: it reads now. If it has ended, what is of late is of all its time


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalStatistics:
    """All jobs since the daemon started, those that have left included."""

    delivered: int = 0
    prepared: int = 0
    hits: int = 0
    shared: int = 0
    wasted: int = 0  # prepared ahead, and evicted before any job got it
    saved_s: float = 0.0  # worker time that hits would have taken
    saved_cpu_s: float = 0.0  # of that, with a processor
    saved: float | None = None  # which part of the work; None: nothing was delivered yet


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """The memory for prepared samples: `pinned_bytes` of `used_bytes` cannot be evicted now.

    The rest of `used_bytes` is needed by several jobs, by one, or by none. With many samples these
    three come from a part of them.
    """

    used_bytes: int = 0
    pinned_bytes: int = 0
    budget_bytes: int = 0
    needed_by_many_bytes: int = 0
    needed_by_one_bytes: int = 0
    needed_by_none_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RawStatistics:
    """Rows that are kept as they are stored, beside what is prepared of them."""

    rows: int = 0  # here now
    bytes: int = 0
    used: int = 0  # preparations that started from one, and read nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatistics:
    """All that the engine counts; it knows jobs by number only."""

    jobs: Mapping[int, ReadStatistics]
    memory: CacheStatistics
    wasted: int
    flow: Mapping[int, FlowStatistics] = field(default_factory=dict)
    taken_from: Mapping[int, Mapping[int, int]] = field(default_factory=dict)  # by whom, from whom
    raw: RawStatistics = RawStatistics()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewStatistics:
    """The workers that one loader brings, and what waits for them."""

    ticket: str  # its first letters only: whoever knows all of it may come as a worker
    jobs: tuple[int, ...]
    workers: tuple[int, ...]  # process ids
    lends: bool  # they prepare for other jobs, too
    queued: int  # rows and own parts that no worker has yet
    in_hand: int  # those that a worker has
    on_their_way: int  # workers asked for that have not come yet
    most: int = 0  # workers that it may have; 0: its share of the cores
    reads_ahead: bool = False  # each of them has several rows under way to a storage
    computing: float = 0.0  # the part of its time that a worker computes; 0: not known
    row_ms: float = 0.0  # what a row computes
    row_s: float = 0.0  # what a row takes one of them, of late; 0: not known yet
    computing_s: float = 0.0  # of row_s, with a processor
    storage_s: float = 0.0  # of row_s, waiting for a storage
    core_s: float = 0.0  # of row_s, waiting for a processor that others have
    own_row_s: float = 0.0  # what their job's own part of it takes
    in_flight: int = 0  # rows that may wait for a storage now
    in_flight_most: int = 0  # so many may at a time, for their storage; 0: there is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatistics:
    """All workers: `processes` also has those whose crew was dismissed, until they have ended."""

    processes: tuple[int, ...]
    crews: tuple[CrewStatistics, ...]
    schedule: ScheduleStatistics = ScheduleStatistics()
    shares: Mapping[int, ShareStatistics] = field(default_factory=dict)  # by job
    cpu_s: Mapping[int, float] = field(default_factory=dict)  # that each process has had


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStatistics:
    """One node of a cluster, with what it says of itself."""

    name: str
    host: str
    port: int
    cores: int
    here: bool = False  # it is this one
    linked: bool = False  # rows come from it
    recipes: int = 0  # that its workers can prepare
    delivered: int = 0  # samples, to its jobs
    prepared: int = 0  # rows, by its workers
    fetched: int = 0  # rows that came from others
    fetched_bytes: int = 0
    sent: int = 0  # rows that went to others
    sent_bytes: int = 0
    used_bytes: int = 0  # of its memory for prepared samples
    budget_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatistics:
    """Who is there, and what went between this node and the others."""

    name: str = ""
    leader: str = ""
    leader_reached: bool = False
    version: int = 0  # of the membership
    nodes: tuple[PeerStatistics, ...] = ()
    prepared: int = 0  # rows, by workers of this node, for whomever
    fetched: int = 0
    fetched_bytes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    not_sent: int = 0  # homes did not have them in time, so they were prepared here
    lost: int = 0  # on their way, with a connection, and prepared here
    compared: int = 0  # rows that two nodes have prepared to see that they agree
    too_dear: int = 0  # rows whose bytes would take longer than preparing them
    totals: TotalStatistics = TotalStatistics()  # of all nodes: a row from another is a hit
    inherited: int = 0  # of those fetched: rows that live here since nodes have come or gone


@dataclass(frozen=True, slots=True, kw_only=True)
class TierStatistics:
    """One of the places where samples come from, and what it holds; the nearest is the first."""

    name: str  # memory, other_nodes or storage
    samples: int = 0  # that came from it
    used_bytes: int = 0
    budget_bytes: int = 0  # 0: it is not ours to fill


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatistics:
    """All there is to say about a daemon; without arguments, that there is none."""

    version: str = __version__
    pid: int | None = None
    memory: CacheStatistics = CacheStatistics()
    jobs: tuple[JobStatistics, ...] = ()
    totals: TotalStatistics = TotalStatistics()
    workers: int = 0
    worker_processes: tuple[int, ...] = ()
    started_by: int | None = None  # the job's process, if no person started it
    cgroup: str = ""
    crews: tuple[CrewStatistics, ...] = ()
    schedule: ScheduleStatistics = ScheduleStatistics()
    time: float = 0.0  # when this was so, in seconds since 1970
    uptime_s: float = 0.0
    cores: int = 0  # workers that work at a time
    delivered_per_s: float = 0.0  # of late, as the next two
    prepared_per_s: float = 0.0
    cpu_cores: float = 0.0  # that workers keep busy
    flow: FlowStatistics = FlowStatistics()
    raw: RawStatistics = RawStatistics()
    cluster: ClusterStatistics | None = None  # None: it is in none
    queued: int = 0  # rows and own parts that no worker has yet
    tiers: tuple[TierStatistics, ...] = ()
    diagnosis: DiagnosisStatistics = DiagnosisStatistics()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMomentStatistics:
    """What a job did in one moment."""

    samples_per_s: float = 0.0
    waiting: float = 0.0
    worker_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentStatistics:
    """What a node did in the `seconds` before `time`; moments overlap, and minutes do not."""

    time: float
    seconds: float
    delivered_per_s: float = 0.0
    prepared_per_s: float = 0.0
    cpu_cores: float = 0.0
    memory: CacheStatistics = CacheStatistics()
    flow: FlowStatistics = FlowStatistics()
    jobs: Mapping[int, JobMomentStatistics] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatistics:
    """A node as it is and as it was: what the dashboard and a summary show.

    `moments` are the last minutes, second by second; `minutes` the last day. `past` are the last
    hundred jobs that have left within a day, with their final figures, the latest last.
    """

    node: NodeStatistics = NodeStatistics()
    moments: tuple[MomentStatistics, ...] = ()
    minutes: tuple[MomentStatistics, ...] = ()
    past: tuple[JobStatistics, ...] = ()


def to_json(figures: NodeStatistics | RunStatistics) -> bytes:
    """Return figures as they travel, and as `joader status --json` names them."""
    return msgspec.json.encode(figures)


def from_json(body: bytes) -> NodeStatistics:
    """Return the figures again; keys of a newer daemon that are unknown here are left out."""
    return msgspec.json.decode(body, type=NodeStatistics)


def run_from_json(body: bytes) -> RunStatistics:
    """Return a node's figures and their history again."""
    return msgspec.json.decode(body, type=RunStatistics)


def label_of(job: JobStatistics) -> str:
    """Return what a job is called; figures that an older joader has written have names only."""
    return job.label or job.name


def saved(figures: ReadStatistics | JobStatistics | TotalStatistics) -> float | None:
    """Return which part of the work was saved, 0 to 1; None if nothing was delivered yet."""
    return figures.hits / figures.delivered if figures.delivered else None


def of_all_nodes(peers: Sequence[PeerStatistics]) -> TotalStatistics:
    """Return what all nodes together delivered and prepared, each as far as it was heard of."""
    delivered = sum(peer.delivered for peer in peers)
    # What was prepared and is not read yet makes it more for a while.
    prepared = min(delivered, sum(peer.prepared for peer in peers))
    read = TotalStatistics(delivered=delivered, prepared=prepared, hits=delivered - prepared)
    return replace(read, saved=saved(read))
