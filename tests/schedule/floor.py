"""Workers, nurseries and a clock on paper, around a real `Dispatch`.

What it decides is carried out here as the pool does; `later` makes time pass.
"""

from typing import Any

from joader.messages import (
    Compare,
    Compared,
    Failed,
    Finish,
    JobSettings,
    Late,
    Lost,
    NotBegun,
    Place,
    Prepare,
    Prepared,
    Sized,
    Stop,
)
from joader.schedule.dispatch import Dispatch
from joader.schedule.work.actions import (
    Abandon,
    Action,
    AskForWorker,
    Dismiss,
    Give,
    Lent,
    Seen,
    Tell,
    Warn,
)
from joader.schedule.work.blame import Note, Pulse
from joader.schedule.work.whereabouts import acts_in_s, whereabouts

LAYOUT = b"layout"
SLOT_BYTES = 128
WATCH_S = 0.5
_FIRST_PID = 10_000_000


class Worker:
    """A worker that does what the test says."""

    def __init__(self, floor: "Floor", ticket: str, number: int) -> None:
        self.number, self.pid = number, _FIRST_PID + len(floor.workers)
        self.floor, self.ticket = floor, ticket
        self.said: list[Any] = []  # to it
        self.working: list[Note] = []
        self.alive = True
        self.bytes = 1 << 20
        self.pulse: Pulse | None = None  # not to be found out
        self.id = floor.dispatch.arrived(ticket, number, self.pid, floor.now)
        self.state = floor.dispatch.staff.workers[self.id]

    @property
    def has(self) -> list[int]:
        """Return the samples in its hands, in the order they came."""
        return list(self.state.busy)

    @property
    def told(self) -> list[type]:
        """Return what it was told beside orders."""
        orders = Prepare | Finish | Compare | Place
        return [type(message) for message in self.said if not isinstance(message, orders)]

    def say(self, *messages: Any) -> None:
        try:
            self.floor.dispatch.reported(self.id, messages, self.floor.now)
        finally:
            self.floor.act()
        self.floor.feed()

    def report(self, *samples: int, size_bytes: int = SLOT_BYTES, row_s: float = 0.0) -> None:
        """Say that samples are prepared, each by itself, and took so long each."""
        self.say(*(Prepared((one,), (size_bytes,), (LAYOUT,), row_s) for one in samples))

    def begin(self, sample: int) -> None:
        """Work on a sample, as its desk tells."""
        self.working = [Note(sample, self.floor.now, "reading the row")]

    def hand_back(self) -> None:
        """Hand back all but the first, which it works on."""
        self.say(NotBegun(tuple(self.has[1:])))

    def die(self, code: int | None = -9) -> None:
        """End, which its nursery tells."""
        if self.alive:
            self.alive = False
            self.floor.dispatch.out_of_reach(self.id)
            self.floor.dispatch.ended(self.id, self.working, "trace", code, self.floor.now)
            self.floor.act()


class Nursery:
    """A nursery that bears workers when the test lets it."""

    def __init__(self, floor: "Floor", ticket: str) -> None:
        self.floor, self.ticket = floor, ticket
        self.numbers: list[int] = []  # asked for, all of them
        self.read = 0
        self.closed = False
        floor.dispatch.attend(ticket)

    def asked(self) -> list[int]:
        """Return the numbers of workers that it was asked for, each once."""
        new = self.numbers[self.read :]
        self.read = len(self.numbers)
        return new

    def refuse(self, reason: str) -> None:
        self.floor.dispatch.unborn(self.ticket, reason, self.floor.now)
        self.floor.act()

    def go(self) -> None:
        self.floor.dispatch.attend(self.ticket, here=False)


class Floor:
    """A machine of so many cores, and all that the engine was told."""

    def __init__(self, cores: int = 4) -> None:
        self.now = 1000.0
        self._looked = self.now
        self.dispatch = Dispatch(cores, 1 << 30)
        self.events: list[Any] = []
        self.warnings: list[str] = []
        self.nurseries: dict[str, Nursery] = {}
        self.workers: list[Worker] = []
        self.limit_s = 60.0

    @property
    def reports(self) -> list[Any]:
        return [event for event in self.events if isinstance(event, Prepared | Sized | Failed)]

    @property
    def prepared(self) -> list[int]:
        return [s for event in self.events if isinstance(event, Prepared) for s in event.samples]

    @property
    def lost(self) -> list[Lost]:
        return [event for event in self.events if isinstance(event, Lost)]

    @property
    def late(self) -> list[tuple[int, ...]]:
        return [event.samples for event in self.events if isinstance(event, Late)]

    @property
    def compared(self) -> list[Compared]:
        return [event for event in self.events if isinstance(event, Compared)]

    def join(
        self, job: int, code: str = "code", workers: int = 0, lend: bool = True, ticket: str = ""
    ) -> str:
        """Let a job come with its nursery; return its ticket."""
        ticket = ticket or f"ticket {job}"
        self.come(job, ticket, code, workers=workers, lend=lend)
        if ticket not in self.nurseries:
            self.nurseries[ticket] = Nursery(self, ticket)
        return ticket

    def come(self, job: int, ticket: str, code: str = "code", **more: Any) -> None:
        """Let a job come, and its nursery later."""
        of_settings = {name for name in more if name in JobSettings.__struct_fields__}
        said = {"name": "", "timeout_s": self.limit_s} | {key: more.pop(key) for key in of_settings}
        self.dispatch.join(job, Lent(ticket, code, JobSettings(**said), **more))

    def prepare(self, job: int, *samples: int, code: str = "code", whole: bool = False) -> None:
        """Have rows prepared for a job, or as wholes with their own parts."""
        message = Prepare(
            code,
            job,
            7,
            samples=samples,
            rows=samples,
            positions=samples,
            times=(0,) * len(samples),
            offsets=tuple(sample * SLOT_BYTES for sample in samples),
            sizes=(SLOT_BYTES,) * len(samples),
            whole=whole,
        )
        self.dispatch.prepare(message, code)
        self.feed()

    def finish(self, sample: int, source: int, layout: bytes = b"", job: int = 1) -> None:
        """Have an own part done."""
        message = Finish(
            job,
            7,
            samples=(sample,),
            sources=(source,),
            source_offsets=(-1,),
            positions=(sample,),
            times=(0,),
            offsets=(sample * SLOT_BYTES,),
            sizes=(SLOT_BYTES,),
            layouts=(layout,),
        )
        self.dispatch.finish(message, self.now)
        self.act()

    def leave(self, job: int) -> None:
        self.dispatch.leave(job, self.now)
        self.act()

    def feed(self) -> None:
        self.dispatch.feed(self.now)
        self.act()

    def act(self) -> None:
        while decided := self.dispatch.decided():
            for action in decided:
                self.do(action)

    def do(self, action: Action) -> None:
        match action:
            case Give():
                self.worker(action.worker).said += action.messages
            case Tell():
                self.events.append(action.event)
            case AskForWorker():
                self.nurseries[action.ticket].numbers.append(action.number)
            case Abandon():
                self.worker(action.worker).die()
            case Dismiss():
                for worker in action.workers:
                    self.worker(worker).die()
                if action.ticket in self.nurseries:
                    self.nurseries[action.ticket].closed = True
            case Warn():
                self.warnings.append(action.text)

    def worker(self, id: int) -> Worker:
        return next(worker for worker in self.workers if worker.id == id)

    def settle(self) -> None:
        """Let all that was decided happen, without time passing; workers asked for come."""
        for _ in range(20):
            self.feed()
            asked = [(n, number) for n in list(self.nurseries.values()) for number in n.asked()]
            for nursery, number in asked:
                if self.dispatch.expects(nursery.ticket, number):
                    self.workers.append(Worker(self, nursery.ticket, number))
            if not asked:
                return
        raise AssertionError("there is no end of births")

    def later(self, seconds: float, step: float = 0.25) -> None:
        """Let time pass, in small steps, and workers be looked at."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + step)
            if self.now - self._looked >= WATCH_S:
                self.look()
            self.settle()

    def look(self) -> None:
        self._looked = self.now
        seen = {w.id: Seen(w.working, w.bytes, w.pulse) for w in self.workers if w.alive}
        self.dispatch.look(self.now, seen)
        self.act()

    def whereabouts(self, sample: int) -> str:
        staff = self.dispatch.staff
        return whereabouts(staff, sample, self.now, lambda id: self.worker(id).working)

    def acts_in_s(self, sample: int) -> float | None:
        staff = self.dispatch.staff
        return acts_in_s(staff, sample, self.now, lambda id: self.worker(id).working)

    def of(self, ticket: str) -> list[Worker]:
        """Return the workers of a ticket that are alive."""
        return [w for w in self.workers if w.ticket == ticket and w.alive]

    def worker_of(self, job: int, *samples: int) -> Worker:
        """Have a job's only worker born for these samples, and return it."""
        self.prepare(job, *samples)
        self.settle()
        (worker,) = self.of(f"ticket {job}")
        return worker

    def idle_worker(self, job: int) -> Worker:
        """Return a job's only worker, after it has done what it was born for."""
        worker = self.worker_of(job, 100)
        worker.report(100)
        return worker

    def told_to_stop(self) -> list[Worker]:
        return [worker for worker in self.workers if Stop in worker.told]

    def has(self) -> list[int]:
        """Return all samples in workers' hands."""
        return [sample for worker in self.workers if worker.alive for sample in worker.has]


def one_worker(floor: Floor, *samples: int) -> Worker:
    """Return the only worker of a crew, with samples in hand."""
    floor.join(1, workers=1)
    return floor.worker_of(1, *samples)
