"""What is simulated: a machine, its storages, and the jobs that come to it.

Written as TOML, with times in the units of their names:

    seconds = 60                     # at most; left out: until all jobs are done

    [machine]
    cores = 2
    memory = "256MiB"
    policy = "fair"
    cpu = "100%"
    daemon = 0.0                     # processors that the daemon takes, for the ceiling
    link_mb_per_s = 1250.0           # to all storages together; left out: never the bottleneck
    contention = [1.0, 1.15]         # what a row costs beside others, for 1, 2, … busy processors
    nodes = 1                        # so many such machines
    network_mb_per_s = 1000.0        # … each sends the others so much

    [storage.disk]
    latency_ms = 0.2
    mb_per_s = 500.0
    most = 64                        # requests that it serves at once; more wait
    crowd = 64                       # more at once than so many slow each other down
    slow_ms = 0.0                    # latency in every other stretch of slow_s seconds, whatever
    slow_s = 0.0                     # … the crowd; 0: it never turns slow

    [[job]]
    name = "resnet"
    dataset = "imagenet"             # jobs with one dataset share preparations
    rows = 20000
    row_ms = 8.0                     # of a processor, to prepare a row
    own_ms = 0.0                     # … for the job's own part of it
    row_kb = 110.0                   # to read
    sample_kb = 196.0                # prepared
    storage = "disk"
    batch = 64
    step_ms = 100.0                  # of its GPU for a batch, or speed = 640.0 samples per second
    first_step_ms = 0.0              # of the first batch: kernels compile; 0: as the others
    gpu = "0"                        # jobs on one GPU share it; left out: one of its own
    arrival_s = 0.0
    epochs = 1
    workers = 2
    weight = 1.0
    node = 1                         # on which it runs

Everything has a default but a job's name. Not here: reading files (cli/simulate.py).
"""

import math
import tomllib
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

from joader.config import cpu_part, size_in_bytes
from joader.errors import BadArgument
from joader.schedule.shares.policies import policy_of
from joader.schedule.shares.weight import checked_weight

T = TypeVar("T")
_LARGEST = 1e12


@dataclass(frozen=True)
class Storage:
    """Where rows are read from."""

    latency_ms: float = 0.0
    mb_per_s: float = 1e6
    most: int = 1 << 20
    crowd: int = 1 << 20
    slow_ms: float = 0.0
    slow_s: float = 0.0

    def latency_s(self, serving: int, now: float) -> float:
        """Return how long an answer takes that begins now, as one of so many."""
        if self.slow_s and int(now / self.slow_s) % 2 == 0:
            return self.slow_ms / 1000
        return self.latency_ms / 1000 * max(1.0, serving / self.crowd) ** 2


@dataclass(frozen=True)
class MachineSpec:
    """The node, or each of several."""

    cores: int = 2
    memory: str = "256MiB"
    policy: str = "fair"
    cpu: str = "100%"
    link_mb_per_s: float = 1e6
    contention: tuple[float, ...] = (1.0,)
    daemon: float = 0.0  # processors that the daemon itself takes; they count against the ceiling
    nodes: int = 1
    network_mb_per_s: float = 1000.0

    @property
    def memory_bytes(self) -> int:
        """The budget for prepared samples."""
        return size_in_bytes(self.memory)

    @property
    def cpu_part(self) -> float:
        """The part of the cores that may be used."""
        return cpu_part(self.cpu)

    def cost(self, busy: int) -> float:
        """Return what a row costs while so many processors are busy."""
        return self.contention[min(max(busy, 1), len(self.contention)) - 1]


@dataclass(frozen=True)
class JobSpec:
    """One training job."""

    name: str
    dataset: str = "data"
    rows: int = 10_000
    row_ms: float = 4.0
    own_ms: float = 0.0
    row_kb: float = 0.0
    sample_kb: float = 64.0
    storage: str = ""
    batch: int = 32
    step_ms: float = 0.0
    first_step_ms: float = 0.0
    gpu: str = ""
    arrival_s: float = 0.0
    epochs: int = 1
    workers: int = 2
    weight: float = 1.0
    node: int = 1


@dataclass(frozen=True)
class Workload:
    """All of it."""

    jobs: tuple[JobSpec, ...]
    machine: MachineSpec = MachineSpec()
    storages: dict[str, Storage] = field(default_factory=dict)
    seconds: float = math.inf


def parsed(text: str, where: str) -> Workload:
    """Return the workload in a text of TOML; BadArgument says where it is wrong."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadArgument(f"{where} is not TOML: {error}") from error
    _check_keys(found, {"seconds", "machine", "storage", "job"}, where)
    seconds = _number(found.get("seconds", math.inf), f"{where}: seconds", above=0.0, finite=False)
    jobs = found.get("job", [])
    if not isinstance(jobs, list) or not jobs:
        raise BadArgument(f"{where} has no jobs; write at least one [[job]] with a name")
    storages = found.get("storage", {})
    workload = Workload(
        jobs=tuple(_job(one, f"{where}: job {n}") for n, one in enumerate(jobs, 1)),
        machine=_machine(found.get("machine", {}), f"{where}: machine"),
        storages={
            name: _storage(one, f"{where}: storage {name}") for name, one in storages.items()
        },
        seconds=seconds,
    )
    checked(workload, where)
    return workload


def checked(workload: Workload, where: str = "the workload") -> Workload:
    """Return a workload whose parts fit together."""
    names = [job.name for job in workload.jobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadArgument(f"{where}: two jobs are called {twice!r}; give each a name of its own")
    for job in workload.jobs:
        if job.node > workload.machine.nodes:
            raise BadArgument(
                f"{where}: job {job.name!r} runs on node {job.node}, and there are "
                f"{workload.machine.nodes}; give the machine nodes = {job.node}"
            )
        if job.storage and job.storage not in workload.storages:
            known = ", ".join(workload.storages) or "none is described"
            raise BadArgument(
                f"{where}: job {job.name!r} reads from storage {job.storage!r}, which there is "
                f"not ({known}); describe it as [storage.{job.storage}]"
            )
        first = next(one for one in workload.jobs if one.dataset == job.dataset)
        same = ("rows", "row_ms", "row_kb", "sample_kb", "storage")
        odd = next((key for key in same if getattr(job, key) != getattr(first, key)), None)
        if odd is not None:
            raise BadArgument(
                f"{where}: jobs {first.name!r} and {job.name!r} read dataset {job.dataset!r} with "
                f"{odd} {getattr(first, odd)!r} and {getattr(job, odd)!r}; one dataset has one "
                f"{odd}"
            )
    return workload


def _job(found: object, where: str) -> JobSpec:
    values = _table(found, where, {one.name for one in fields(JobSpec)} | {"speed"})
    if not isinstance(values.get("name"), str) or not values["name"]:
        raise BadArgument(f"{where} has no name; give it one")
    where = f"{where} ({values['name']})"
    if "speed" in values:
        if "step_ms" in values:
            raise BadArgument(f"{where} has step_ms and speed; give one of them")
        speed = _number(values.pop("speed"), f"{where}: speed", above=0.0)
        values["step_ms"] = 1000.0 * values.get("batch", JobSpec("").batch) / speed
    job: JobSpec = _made(JobSpec, values, where)
    for key in ("rows", "batch", "epochs", "workers", "node"):
        if getattr(job, key) < 1:
            raise BadArgument(f"{where}: {key} is {getattr(job, key)}; it is 1 or more")
    if job.row_ms <= 0.0 or job.sample_kb <= 0.0:
        raise BadArgument(f"{where}: row_ms and sample_kb are above 0")
    checked_weight(job.weight)
    return job


def _machine(found: object, where: str) -> MachineSpec:
    values = _table(found, where, {one.name for one in fields(MachineSpec)})
    costs = values.pop("contention", [1.0])
    if not isinstance(costs, list) or not costs:
        raise BadArgument(f"{where}: contention is {costs!r}; it is a list of numbers above 0")
    numbers = tuple(_number(one, f"{where}: contention", above=0.0) for one in costs)
    made: MachineSpec = _made(MachineSpec, values, where)
    machine = replace(made, contention=numbers)
    for key in ("cores", "link_mb_per_s", "nodes", "network_mb_per_s"):
        if getattr(machine, key) <= 0:
            raise BadArgument(f"{where}: {key} is {getattr(machine, key):g}; it is above 0")
    policy_of(machine.policy)
    _ = machine.memory_bytes, machine.cpu_part  # they raise
    return machine


def _storage(found: object, where: str) -> Storage:
    made: Storage = _made(Storage, _table(found, where, {o.name for o in fields(Storage)}), where)
    if made.mb_per_s <= 0.0 or made.most < 1:
        raise BadArgument(
            f"{where}: mb_per_s is {made.mb_per_s:g} and most {made.most}; both are above 0"
        )
    return made


def _table(found: object, where: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BadArgument(f"{where} is {found!r}; it is a table of settings")
    _check_keys(found, known, where)
    return dict(found)


def _check_keys(found: dict[str, Any], known: set[str], where: str) -> None:
    odd = next((key for key in found if key not in known), None)
    if odd is not None:
        raise BadArgument(
            f"{where} has {odd!r}, which is not known; there are {', '.join(sorted(known))}"
        )


def _made(kind: type[T], values: dict[str, Any], where: str) -> T:
    """Return a value of a kind whose fields are texts and numbers >= 0."""
    good: dict[str, str | float] = {}
    for one in fields(kind):  # type: ignore[arg-type]
        if one.name not in values:
            continue
        value, name = values[one.name], f"{where}: {one.name}"
        usual = "" if one.default is MISSING else one.default
        if isinstance(usual, str):
            if not isinstance(value, str):
                raise BadArgument(f"{name} is {value!r}; it is a text")
            good[one.name] = value
        elif isinstance(usual, int):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise BadArgument(f"{name} is {value!r}; it is an integer >= 0")
            good[one.name] = value
        else:
            good[one.name] = _number(value, name)
    return kind(**good)


def _number(value: object, name: str, above: float | None = None, finite: bool = True) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if good else math.nan  # type: ignore[arg-type]
    least = 0.0 if above is None else above
    fits = number > least if above is not None else number >= least
    if not good or not fits or (finite and number > _LARGEST):
        sign = ">" if above is not None else ">="
        raise BadArgument(f"{name} is {value!r}; it is a number {sign} {least:g}")
    return number
