"""Play a workload to its end, and say who got what when."""

from collections.abc import Callable
from dataclasses import dataclass

from joader.errors import BadArgument
from joader.sampling.sampler import checked_seed
from joader.schedule.experience import Experience
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.disk import Disk
from joader.simulator.machine.neighbors import Moved
from joader.simulator.machine.node import Node
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.trainer import Trainer
from joader.simulator.machine.worker import Hardware
from joader.simulator.machine.workload import JobSpec, Workload, checked

# A workload without an end would be simulated for ever.
MOST_S = 1e6
_LEAST_LOOK_S = 0.5


@dataclass(frozen=True)
class JobOutcome:
    """What a job got."""

    name: str
    delivered: int
    prepared: int
    seconds: float  # from its arrival to its end, or to the end of it all
    wait_s: float
    longest_wait_s: float  # for one batch

    @property
    def per_s(self) -> float:
        """Samples per second."""
        return self.delivered / self.seconds if self.seconds else 0.0

    @property
    def waiting(self) -> float:
        """The part of its time that it waited for data."""
        return self.wait_s / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Glance:
    """What jobs had at one moment: worker-seconds per second, and samples per second."""

    at_s: float
    used: dict[str, float]
    share: dict[str, float]
    per_s: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What came of a workload."""

    policy: str
    seconds: float
    jobs: tuple[JobOutcome, ...]
    glances: tuple[Glance, ...]
    nodes: tuple[Moved, ...] = ()

    @property
    def per_s(self) -> float:
        """Samples per second of all jobs together, while any of them ran."""
        return sum(job.delivered for job in self.jobs) / self.seconds if self.seconds else 0.0


class _Play:
    """A workload in progress."""

    def __init__(self, workload: Workload, seed: int, experience: Experience) -> None:
        self.workload = workload
        self.clock = Clock()
        machine = workload.machine
        disks = {name: Disk(self.clock, one) for name, one in workload.storages.items()}
        self.nodes = [
            Node(Hardware(self.clock, machine, disks), machine.memory_bytes, seed, f"node {number}")
            for number in range(1, machine.nodes + 1)
        ]
        for node in self.nodes:
            node.dispatch.learning.experience = experience
            node.neighbors.meet(one.neighbors for one in self.nodes)
        self._gpus: dict[str, Resource] = {}
        self.trainers = [self._trainer(n, spec) for n, spec in enumerate(workload.jobs, 1)]
        self.prepared = dict.fromkeys((one.number for one in self.trainers), 0)
        self.glances: list[Glance] = []

    def _trainer(self, number: int, spec: JobSpec) -> Trainer:
        gpu = self._gpus.setdefault(
            spec.gpu or f"of {spec.name}", Resource(self.clock, lambda users: 1.0 / users)
        )
        node = self.nodes[spec.node - 1]
        trainer = Trainer(self.clock, gpu, spec, number, node.said)

        def come() -> None:
            node.join(number, spec, trainer.deliver)
            trainer.start()

        self.clock.after(spec.arrival_s, come)
        return trainer

    def look(self, every_s: float) -> None:
        """Note who has what, and come back."""
        now, names = self.clock.now, {one.number: one.spec.name for one in self.trainers}
        its = {}
        for node in self.nodes:
            for job, one in node.dispatch.allocation.statistics(now).items():
                its[names[job]] = one
            for job, read in node.engine.statistics().jobs.items():
                if job in self.prepared:  # not another node
                    self.prepared[job] = read.prepared
        self.glances.append(
            Glance(
                now,
                used={name: one.used for name, one in its.items()},
                share={name: one.share for name, one in its.items()},
                per_s={name: one.per_s for name, one in its.items()},
            )
        )
        self.clock.after(every_s, lambda: self.look(every_s))


def play(
    workload: Workload,
    seed: int = 0,
    every_s: float = _LEAST_LOOK_S,
    tell: Callable[[float], None] | None = None,
    experience: Experience | None = None,
) -> Outcome:
    """Run all jobs to their end, or for the workload's time, and look at them now and then.

    `experience`: what is known of recipes from before; what the jobs teach is added to it.
    """
    seed = checked_seed(seed)
    running = _Play(checked(workload), seed, Experience() if experience is None else experience)
    until = min(workload.seconds, MOST_S)
    running.clock.after(0.0, lambda: running.look(every_s))

    def over() -> bool:
        if tell is not None:
            tell(running.clock.now)
        return all(trainer.over for trainer in running.trainers)

    running.clock.run(until, over)
    if not over() and workload.seconds > MOST_S:
        raise BadArgument(f"the jobs are not done after {MOST_S:g} s; give the workload seconds=")
    for node in running.nodes:
        node.dispatch.learning.learn()
    end = running.clock.now if over() else until
    jobs = tuple(_outcome(trainer, running.prepared, end) for trainer in running.trainers)
    moved = tuple(node.neighbors.counts for node in running.nodes)
    return Outcome(workload.machine.policy, end, jobs, tuple(running.glances), moved)


def _outcome(trainer: Trainer, prepared: dict[int, int], end: float) -> JobOutcome:
    ended = trainer.ended_s if trainer.over else end
    return JobOutcome(
        trainer.spec.name,
        trainer.delivered,
        prepared[trainer.number],
        max(0.0, ended - trainer.spec.arrival_s),
        trainer.wait_s,
        trainer.longest_wait_s,
    )
