"""What docs/journey.md shows is what engine, schedule and messages really say.

The journey is played on paper: the real engine and the real `Dispatch`, told what the daemon would
tell them, with workers that do one thing at a time. To see all that was said:

    python -m tests.test_journey
"""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import fields, replace

import joader.messages
from joader.daemon.layouts import Layouts
from joader.engine import Engine
from joader.memory import pack
from joader.messages import (
    PROTOCOL,
    Attend,
    Bear,
    Begin,
    Born,
    Deliver,
    Event,
    Finish,
    Forget,
    Hello,
    Inspect,
    JobSettings,
    Join,
    Leave,
    Place,
    Prepare,
    Prepared,
    Register,
    Registered,
    Release,
    Sized,
    Want,
    Welcome,
)
from joader.schedule.dispatch import Dispatch
from joader.schedule.work.actions import AskForWorker, Give, Lent, Tell
from joader.schedule.work.orders import Own, Row, own_parts_of, rows_of

PAGE = Path(__file__).parent.parent / "docs" / "journey.md"
TICKET = "988d804d5f3c"
SEED = 160
KEY = 3104828190905320949
NURSERY, FIRST_WORKER = 3437, 3442  # processes
ROW_S = 0.001
PARCEL = pack((np.zeros((4, 4), np.uint8), 0))
SIZE, LAYOUT = PARCEL.layout.size_bytes, PARCEL.layout.to_bytes()


class Journey:
    """One job's pass on paper; `said` is all that was said, by whom to whom."""

    def __init__(self, **join: Any) -> None:
        """Begin it, with a job that differs in this from the one of the page's first part."""
        self.said: list[tuple[str, Any]] = []
        self.engine = Engine(2**26, seed=SEED)
        self.dispatch = Dispatch(cores=2, most_growth_bytes=2**30)
        self.layouts, self._known = Layouts(), set[int]()
        self.now = 6270.19
        self._workers: dict[int, deque[Any]] = {}  # what each has to do, by what schedule calls it
        self._batches: deque[Deliver] = deque()
        self._job(**join)

    def _say(self, who: str, message: Any) -> None:
        self.said.append((who, message))

    def _job(self, *, ticket: str = TICKET, **more: Any) -> None:
        join = Join(0, "photos", np.arange(6), 6, 2, reads_for="7", fresh=True, **more)
        if ticket:
            self._say("nursery → job", Born())
        self._say(
            "job → daemon",
            Register(join, JobSettings("photos.py"), ticket, home="/ on 0,1", cores=2),
        )
        if ticket:
            self.dispatch.join(1, Lent(ticket, "photos", JobSettings("photos.py")))
        self._tell(replace(join, job=1, reads_itself=not ticket))
        self._say("daemon → job", Registered(1, 7, "photos.py"))
        if ticket:
            self._tell(Inspect(1))
            self._say("job → nursery", Attend("/run/user/0/joader/daemon.sock", ticket, 3430))
            self._say("nursery → daemon", Hello(PROTOCOL, NURSERY, "nursery", ticket))
            self.dispatch.attend(ticket)
        begin = Begin(0, key=KEY, number=1, renew=True)
        self._from_job(begin, Want(0, 2), Want(0, 2))

    def _from_job(self, *messages: Any) -> None:
        """Let the daemon hear these messages in one turn."""
        for message in messages:
            self._say("job → daemon", message)
            if isinstance(message, Want):
                message = replace(message, now=self.now)
            self._tell(replace(message, job=1))
        self._turn()

    def _tell(self, event: Event) -> None:
        self.engine.take(event)

    def _turn(self) -> None:
        for instruction in self.engine.say():
            self._say("engine", instruction)
            match instruction:
                case Prepare():
                    self.dispatch.prepare(instruction, instruction.recipe)
                case Finish():
                    self.dispatch.finish(self.layouts.with_sources(instruction), self.now)
                case Place():
                    self.dispatch.place(instruction)
                case Deliver():
                    numbers, new, _ = self.layouts.told(instruction.samples.tolist(), self._known)
                    batch = replace(instruction, number=1, layouts=numbers, new_layouts=new)
                    self._say("daemon → job", batch)
                    self._batches.append(batch)
                case Forget():
                    self.layouts.forget(instruction.samples)
        self.dispatch.feed(self.now)
        self._act()

    def _act(self) -> None:
        births = []
        while decided := self.dispatch.decided():
            for action in decided:
                match action:
                    case AskForWorker():
                        self._say("daemon → nursery", Bear(action.number))
                        births.append(action.number)
                    case Give():
                        for message in action.messages:
                            self._say("daemon → worker", message)
                            self._workers[action.worker] += _steps(message)
                    case Tell():
                        if isinstance(action.event, Prepared):
                            self.layouts.note(action.event.samples, action.event.layout_of_each)
                        self._tell(action.event)
        for number in births:
            pid = FIRST_WORKER + number
            hello = Hello(PROTOCOL, pid, "worker", TICKET, number)
            self._say("worker → daemon", hello)
            self._say("daemon → worker", Welcome(PROTOCOL, "", 3430, 2**26))
            self._workers[self.dispatch.arrived(TICKET, number, pid, self.now)] = deque()
            self._turn()

    def play(self) -> "Journey":
        """Let the workers and the job do what they can until the pass is over."""
        while self._batches or any(self._workers.values()):
            for worker, steps in list(self._workers.items()):
                if steps:
                    self.now += ROW_S
                    report = steps.popleft()
                    self._say("worker → daemon", report)
                    self.dispatch.reported(worker, (report,), self.now)
                    self._act()
                    self._turn()
            if self._batches:
                batch = self._batches.popleft()
                wants = [Want(0, 2)] if self._wanted < 3 else []
                self._from_job(*([Release(0, batch.samples)] if len(batch.samples) else []), *wants)
        self._tell(Leave(1))
        self._turn()
        return self

    @property
    def _wanted(self) -> int:
        return sum(isinstance(message, Want) for _, message in self.said)


def _steps(message: Any) -> Iterator[Any]:
    """Yield what a worker reports of a message, one thing after the other."""
    match message:
        case Prepare():
            for row in rows_of(message):
                yield _made(row)
        case Finish():
            for own in own_parts_of(message):
                yield _made(own)
        case Place():
            for sample in message.samples:
                yield _prepared(sample)


def _made(order: Row | Own) -> Prepared | Sized:
    return _prepared(order.sample) if order.offset >= 0 else Sized((order.sample,), (SIZE,))


def _prepared(sample: int) -> Prepared:
    return Prepared((sample,), (SIZE,), (LAYOUT,), ROW_S)


def shown(value: Any) -> str:
    """Return a value as the page shows it: of a message, the fields that are not as always."""
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    if not hasattr(value, "__struct_fields__"):
        return repr(value)
    given = {
        field.name: shown(getattr(value, field.name))
        for field in fields(value)
        if field.required or shown(getattr(value, field.name)) != shown(_default(field))
    }
    given.pop("job", None) if given.get("job") == "0" else None  # the daemon puts it in
    return f"{type(value).__name__}({', '.join(f'{k}={v}' for k, v in given.items())})"


def _default(field: Any) -> Any:
    factory = field.default_factory
    return factory() if callable(factory) else field.default


# Parts of the page, by how they begin, with how the job of each differs from that of the first.
PARTS: dict[str, dict[str, Any]] = {
    "**a. The loader looks": {},
    "**A part of its own**": {"own": True},
    "**No workers**": {"ticket": ""},
}
_SAID = re.compile(r"^((?:engine|\w+ → \w+)) +([A-Z]\w+\(.*)")


def said_on_page(begins: str) -> list[tuple[str, str]]:
    """Return what a part of the page shows: who says it, and the message as it stands there."""
    _, found, part = PAGE.read_text().partition(begins)
    assert found, f"the page has no part that begins with {begins}"
    part = re.split(r"^## |^\*\*(?=[A-Z])", part, flags=re.M)[0]
    said: list[tuple[str, str]] = []
    for block in re.findall(r"^```\n(.*?)^```", part, re.M | re.S):
        for line in block.splitlines():
            if message := _SAID.match(line):
                said.append((message[1], message[2]))
            elif said:
                said[-1] = said[-1][0], f"{said[-1][1]} {line.strip()}"
    # What follows the last bracket is for readers.
    return [(who, text[: text.rindex(")") + 1]) for who, text in said]


@pytest.mark.parametrize("begins", PARTS)
def test_the_page_shows_what_is_said_in_this_order(begins: str) -> None:
    """`…` on the page stands for anything."""
    journey = Journey(**PARTS[begins]).play().said
    said = iter([(who, shown(message)) for who, message in journey])
    on_page = said_on_page(begins)
    assert on_page
    for who, text in on_page:
        pattern = re.escape(text).replace("…", ".*")
        assert any(who == other and re.fullmatch(pattern, real) for other, real in said), (
            f"{who}: {text} is not said, or not there; `python -m tests.test_journey` "
            "prints all that is"
        )


def test_messages_that_the_page_names_have_the_fields_it_names() -> None:
    for name, rest in re.findall(r"\b([A-Z]\w+)\(([^`]*?)\)", PAGE.read_text()):
        kind = getattr(joader.messages, name, None)
        if kind is not None and "(" not in rest:
            unknown = set(re.findall(r"\b(\w+)=", rest)) - set(kind.__struct_fields__)
            assert not unknown, f"{name} has no {', '.join(unknown)}"


if __name__ == "__main__":
    for part, differences in PARTS.items():
        print(part)
        for who, message in Journey(**differences).play().said:
            print(f"{who:18} {shown(message)}")
