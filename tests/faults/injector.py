"""A fault at one exact step of one process: the n-th time it comes by, the process ends or stops.

A life (life.py) *arms* one fault at a time by writing it to a file that the daemon and all
processes of jobs look at. A process of the right role that comes by the step for the n-th time
*fires*: it notes so in a file, which only one process can make, and then does the fault to itself,
or to its job.

Steps are messages, as they are sent and got (`send Prepare`, `get Prepare`), and what happens
between two messages (`gather`, `write`, `plan`, `bear`). Each has a *before* and an *after*; what
is written in one go (a message, a slot) has a *half*, too. The product knows nothing of all this:
the classes of `joader.wire` and a few functions are wrapped in the daemon, and in a job before it
iterates. A job's nursery and workers are forked from it: they inherit the wrapping, and take on a
*role*."""

import os
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from joader import wire
from tests.faults import family

GROWS_BYTES = 48 * 2**20


@dataclass(frozen=True)
class Fault:
    """What happens to whom, when."""

    number: int
    victim: str  # job, nursery, worker, daemon: who comes by the step
    # kill, stop, oom, term; orphan: its job is killed; freeze: all of its job stop; gone: it is
    # killed, and no other can be started; hang: it stops; full: it is killed, the next has no room
    kind: str
    step: str
    when: str  # before, half, after
    nth: int
    who: str = ""  # which job

    @property
    def name(self) -> str:
        return f"{self.kind} {self.victim} {self.when} {self.step} (no. {self.nth})"


class Armed:
    """The folder in which a fault is armed, and where it is noted that it has fired."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "armed"

    def arm(self, fault: Fault) -> None:
        new = self._folder / "arming"
        new.write_bytes(msgspec.json.encode(asdict(fault)))
        new.rename(self._file)

    def bar(self, *, again: bool = False) -> None:
        """Let no daemon be started or found here: a folder that others may write to is not safe."""
        self._folder.chmod(0o700 if again else 0o777)

    def disarm(self, fault: Fault) -> int | None:
        """See that it cannot fire any more; return the process that did, if one did."""
        self._file.unlink(missing_ok=True)
        return None if self.claim(fault) else self.fired(fault)

    def identity(self) -> tuple[int, int] | None:
        """Return what changes when another fault is armed."""
        try:
            found = os.stat(self._file)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def fault(self) -> Fault | None:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Fault)
        except OSError:
            return None

    def claim(self, fault: Fault, victim: int = 0) -> bool:
        """Note who is the one, this process or another; False if somebody was first."""
        whole = self._folder / f"fires-{fault.number}-{os.getpid()}"
        whole.write_text(str(victim or os.getpid()))
        try:
            os.link(whole, self._folder / f"fired-{fault.number}")
        except FileExistsError:
            return False
        finally:
            whole.unlink()
        return True

    def fired(self, fault: Fault) -> int | None:
        """Return the process that is hit, if one is."""
        try:
            return int((self._folder / f"fired-{fault.number}").read_text())
        except OSError:
            return None


class Injector:
    """Counts what comes by in this process, and fires."""

    def __init__(self, armed: Armed, role: str, name: str = "") -> None:
        self._armed = armed
        self.role, self._name = role, name
        self._job = os.getpid()
        self._identity: tuple[int, int] | None = None
        self._fault: Fault | None = None
        self._seen = 0

    def become(self, role: str) -> None:
        """Be another process of the same job, which was just forked."""
        self.role, self._identity, self._fault, self._seen = role, None, None, 0
        family.mark_as(role, self._name)

    def at(self, step: str, when: str) -> None:
        """Come by a step."""
        if self.due(step, when):
            self.fire()

    def armed_for(self, step: str, when: str) -> bool:
        """Tell whether something may happen there, without coming by."""
        identity = self._armed.identity()
        if identity != self._identity:
            self._identity, self._seen = identity, 0
            self._fault = self._armed.fault()
        fault = self._fault
        return (
            fault is not None
            and (fault.victim, fault.step, fault.when) == (self.role, step, when)
            and fault.who in ("", self._name)
        )

    def due(self, step: str, when: str) -> bool:
        """Come by a step, and tell whether to fire now."""
        if not self.armed_for(step, when):
            return False
        assert self._fault is not None
        self._seen += 1
        return self._seen >= self._fault.nth

    def fire(self) -> None:
        """Do the fault to this process, if no other has."""
        fault, self._fault = self._fault, None
        assert fault is not None
        if not self._armed.claim(fault, self._job if fault.kind == "orphan" else 0):
            return
        if fault.kind == "oom":  # it grows, and the kernel ends it
            assert np.ones(GROWS_BYTES, np.uint8).all()
        if fault.kind == "gone":
            self._armed.bar()
        if fault.kind == "orphan":
            os.kill(self._job, signal.SIGKILL)
        else:  # who freezes stops; case.py stops the rest of its job
            how = {"stop": signal.SIGSTOP, "freeze": signal.SIGSTOP, "term": signal.SIGTERM}
            how["hang"] = signal.SIGSTOP
            os.kill(os.getpid(), how.get(fault.kind, signal.SIGKILL))


def around(injector: Injector, step: str, owner: Any, name: str) -> None:
    """Come by a step before and after a function or method."""
    whole: Callable[..., Any] = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        injector.at(step, "before")
        result = whole(*arguments, **named)
        injector.at(step, "after")
        return result

    setattr(owner, name, wrapped)


def in_channels(injector: Injector) -> None:
    """Come by all that goes through blocking sockets: in jobs, nurseries and workers."""
    send, receive = wire.Channel.send, wire.Channel.receive
    handling: dict[int, str] = {}  # by channel: what was received last

    def faulty_send(self: wire.Channel[Any], *messages: msgspec.Struct) -> None:
        steps = [f"send {type(message).__name__}" for message in messages]
        for step in steps:
            injector.at(step, "before")
        if any(injector.due(step, "half") for step in steps):
            data = b"".join(map(wire.frame, messages))
            self.socket.sendall(data[: len(data) // 2])
            injector.fire()
            self.socket.sendall(data[len(data) // 2 :])
        else:
            send(self, *messages)
        for step in steps:
            injector.at(step, "after")

    def faulty_receive(self: wire.Channel[Any], *arguments: Any, **named: Any) -> Any:
        before = handling.pop(id(self), None)
        if before is not None:
            injector.at(before, "after")
        message = receive(self, *arguments, **named)
        handling[id(self)] = f"get {type(message).__name__}"
        injector.at(handling[id(self)], "before")
        return message

    wire.Channel.send = faulty_send  # type: ignore[method-assign]
    wire.Channel.receive = faulty_receive  # type: ignore[method-assign]


def in_transports(injector: Injector) -> None:
    """Come by all that goes through asyncio's transports: in the daemon."""
    take, send = wire.Stream.take, wire.Mail.send
    handling: dict[int, str] = {}  # by stream: what was taken last

    def faulty_take(self: wire.Stream[Any]) -> Any:
        before = handling.pop(id(self), None)
        if before is not None:
            injector.at(before, "after")
        message = take(self)
        if message is not None:
            handling[id(self)] = f"get {type(message).__name__}"
            injector.at(handling[id(self)], "before")
        return message

    def faulty_send(self: wire.Mail, transport: Any, messages: Any) -> None:
        for message in messages:
            step = f"send {type(message).__name__}"
            injector.at(step, "before")
            if injector.due(step, "half"):
                self.flush()
                data = wire.frame(message)
                transport.write(data[: len(data) // 2])
                injector.fire()
                transport.write(data[len(data) // 2 :])
                continue
            send(self, transport, (message,))
            if injector.armed_for(step, "after"):
                self.flush()  # it has really gone
            injector.at(step, "after")

    wire.Stream.take = faulty_take  # type: ignore[method-assign]
    wire.Mail.send = faulty_send  # type: ignore[method-assign]
