"""A job's nursery: the one child of a loader, from which its workers are forked when needed.

It is started by Python's `multiprocessing`, as torch's loader would start its workers in that
script, so that `__main__`, `argv`, import path and pickling errors are what torch users know. It
holds the state of the dataset as it was at `iter()`, and does nothing but fork and wait: no thread,
no user code. Each trap that it avoids was seen in a prototype:

- Its end is by its own hand (`os._exit`), never by returning: atexit functions, unflushed files and
  destructors are the job's. `gc.freeze` first of all, so that garbage of the job is not collected
  here, and pages stay shared.
- A session of its own, and empty handlers (not SIG_IGN, which programs that user code runs would
  inherit) for what a terminal, Slurm or a batch system sends to all processes of a job: a job that
  saves a checkpoint on SIGTERM still needs rows.
- It watches its job by a pidfd. A pipe would stay open in any process that the job forks, and
  PDEATHSIG follows the thread that called `iter()`. Workers have PDEATHSIG from it: it forks them
  from its only thread.
- Descriptors of GPUs and of the job's connections are closed: else the memory of a killed job's GPU
  would stay with its children.

It outlives the daemon: its workers then end, and the job names the next daemon to serve. Not here:
how the job starts it (client/reading/births.py), the loop of a worker (loop.py).
"""

import ctypes
import gc
import multiprocessing
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from joader.config import socket_path
from joader.errors import JoaderError
from joader.memory import Arena
from joader.messages import (
    PROTOCOL,
    Attend,
    Bear,
    Born,
    Ended,
    Hello,
    Slay,
    Stop,
    ToChild,
    ToNursery,
    ToWorker,
    Unborn,
)
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.watch import NO_SIGNS, Signs
from joader.wire import Channel, connected_to, welcomed
from joader.workers.desk import Desk
from joader.workers.forks import QUIET, mind_forks
from joader.workers.loop import Worker

_PR_SET_PDEATHSIG = 1
_HANDSHAKE_S = 30.0
# How long killed workers may take to end.
_REAP_S = 2.0
# Seconds before asking again a daemon that did not let it in: it may have been stopped.
_AGAIN_S = 1.0


@dataclass
class Childhood:
    """What a nursery is started with; under spawn and forkserver it travels as a pickle."""

    control: socket.socket  # to the job
    job_pid: int
    shared: SharedPart
    own: OwnPart
    workers: int  # the most workers there may be, as get_worker_info() returns it
    forked: bool  # it has the job's memory, and its name for the recipe
    close: tuple[int, ...] = ()  # descriptors of the job that the nursery must close
    signs: Signs = NO_SIGNS  # of datasets that workers must not read
    named: Any = None  # what the recipe is identified by, if it is fingerprinted here


def be_nursery(childhood: Childhood) -> NoReturn:
    """Run the nursery until its job is gone; the target of a process."""
    code = 1
    try:
        gc.freeze()
        os.setsid()
        _be_quiet()
        _leave_to_the_job(childhood.close)
        # Datasets may start processes of their own, which multiprocessing forbids its daemons.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "set_num_threads"):
            torch.set_num_threads(1)
        Nursery(childhood).serve()
        code = 0
    except BaseException as error:
        with suppress(BaseException):
            Channel(childhood.control, ToChild).send(Unborn(f"{type(error).__name__}: {error}"))
    finally:
        os._exit(code)


def _be_quiet() -> None:
    for number in QUIET:
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _leave_to_the_job(descriptors: tuple[int, ...]) -> None:
    """Close the job's descriptors: those given, all of GPUs, and all connections to the daemon.

    This includes those that another thread of the job was just opening.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    mine = set(descriptors)
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError, JoaderError):
                link = os.readlink(f"/proc/self/fd/{name}")
                to_daemon = link.startswith("socket:") and _leads_to_daemon(int(name))
                if to_daemon or link.startswith("/dev/nvidia"):
                    mine.add(int(name))
    for descriptor in mine:
        with suppress(OSError):
            # Replaced, not closed: the object that holds the number would later close another file.
            os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)


def _leads_to_daemon(descriptor: int) -> bool:
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        return copy.family == socket.AF_UNIX and copy.getpeername() == os.fspath(socket_path())


class Nursery:
    """The loop of the nursery: waits for job, daemon and workers, all in one `poll`."""

    def __init__(self, childhood: Childhood) -> None:
        """Open a pidfd of the job; no daemon is served yet."""
        self._childhood = childhood
        self._control: Channel[Any] = Channel(childhood.control, ToChild)
        try:
            self._job = os.pidfd_open(childhood.job_pid)
        except OSError:
            os._exit(0)  # it is gone already
        self._daemon: Channel[Any] | None = None
        self._at = Attend("", "")  # which daemon it serves
        self._warm = False  # what built-in steps need is loaded
        self._turned_away = False  # when to ask the daemon again
        self._workers: dict[int, tuple[int, int]] = {}  # by pidfd: number and process
        self._poll = select.poll()
        for descriptor in (self._job, self._control.socket.fileno()):
            self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Serve one daemon after another until the job is gone or has finished."""
        self._control.send(self._born())
        while True:
            again_ms = _AGAIN_S * 1000 if self._turned_away else None
            ready = {descriptor for descriptor, _ in self._poll.poll(again_ms)}
            if self._job in ready:
                break
            for descriptor in ready & self._workers.keys():
                self._reap(descriptor)
            if self._control.socket.fileno() in ready and not self._listen_to_job():
                break
            if self._daemon is not None and self._daemon.socket.fileno() in ready:
                self._listen_to_daemon(self._daemon)
            if self._turned_away and not ready:
                self._attend(self._at)
        self._leave_daemon()

    def _born(self) -> Born:
        """Send the recipe's fingerprint to the job, if the recipe was unpickled here."""
        if self._childhood.forked or self._childhood.named is None:
            return Born()
        # Imported late: a forked nursery never computes fingerprints.
        from joader.recipe.fingerprint import look
        from joader.recipe.place import place

        seen = look(self._childhood.named)
        return Born(seen.name, seen.opaque, place())

    # The job.

    def _listen_to_job(self) -> bool:
        try:
            messages = _all_of(self._control)
        except JoaderError:
            return False
        for message in messages:
            if isinstance(message, Stop):
                return False
            if isinstance(message, Attend) and not self._serves(message):
                self._leave_daemon()
                self._attend(message)
        return True

    def _serves(self, at: Attend) -> bool:
        """Return whether it serves this daemon; first notice if the daemon has just hung up."""
        if self._daemon is not None and at == self._at:
            self._listen_to_daemon(self._daemon)
        return self._daemon is not None and at == self._at

    # The daemon.

    def _attend(self, at: Attend) -> None:
        """Connect to a daemon; if refused, ask again until the job names another.

        The job would not notice: it waits for the daemon, which waits for this nursery.
        """
        self._at = at
        self._turned_away = False
        hello = Hello(PROTOCOL, os.getpid(), "nursery", at.ticket)
        try:
            sock = connected_to(Path(at.path), _HANDSHAKE_S)
            welcomed(sock, hello, 0)
        except (JoaderError, OSError):
            self._turned_away = True
            return
        sock.settimeout(None)
        self._daemon = Channel(sock, ToNursery)
        self._poll.register(sock.fileno(), select.POLLIN)

    def _listen_to_daemon(self, daemon: Channel[Any]) -> None:
        try:
            messages = _all_of(daemon)
        except JoaderError:
            messages = [Stop()]
        for message in messages:
            match message:
                case Stop():
                    self._leave_daemon()
                    return
                case Bear():
                    self._bear(message.number)
                case Slay():
                    for number, pid in self._workers.values():
                        if number == message.number:
                            _kill(pid)

    def _leave_daemon(self) -> None:
        """Kill all workers, because their memory is gone, and close the connection."""
        self._tell(Stop())  # before the daemon sees them end
        for _, pid in self._workers.values():
            _kill(pid)
        deadline = select.poll()
        for descriptor in self._workers:
            deadline.register(descriptor, select.POLLIN)
        while self._workers:
            ended = [descriptor for descriptor, _ in deadline.poll(_REAP_S * 1000)]
            if not ended:
                break
            for descriptor in ended:
                deadline.unregister(descriptor)
                self._reap(descriptor)
        if self._daemon is not None:
            self._poll.unregister(self._daemon.socket.fileno())
            self._daemon.close()
            self._daemon = None

    # Workers.

    def _bear(self, number: int) -> None:
        if not self._warm:
            self._warm = True
            # Libraries of built-in steps, once: in each worker the import would take seconds.
            for part in (self._childhood.shared, self._childhood.own):
                with suppress(Exception):  # the worker will say what is missing
                    part.steps.warm_up()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(Unborn(f"no process can be forked: {error}"))
            return
        if pid == 0:
            try:
                self._be_worker(number)
            finally:
                os._exit(1)
        descriptor = os.pidfd_open(pid)
        self._workers[descriptor] = (number, pid)
        self._poll.register(descriptor, select.POLLIN)

    def _reap(self, descriptor: int) -> None:
        number, pid = self._workers.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # its group; not reaped, so not reused
        _, status = os.waitpid(pid, 0)
        self._tell(Ended(number, pid, os.waitstatus_to_exitcode(status)))

    def _tell(self, message: Ended | Stop | Unborn) -> None:
        if self._daemon is not None:
            with suppress(JoaderError):  # its end is seen in the next turn
                self._daemon.send(message)

    def _be_worker(self, number: int) -> NoReturn:
        """Run in the forked process."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setpgid(0, 0)
        for descriptor in (self._job, *self._workers):
            os.close(descriptor)
        self._control.close()
        if self._daemon is not None:
            self._daemon.close()
        hello = Hello(PROTOCOL, os.getpid(), "worker", self._at.ticket, number)
        sock = connected_to(Path(self._at.path), _HANDSHAKE_S)
        welcome, descriptors = welcomed(sock, hello, 2)
        sock.settimeout(None)
        channel: Channel[Any] = Channel(sock, ToWorker)
        arena = Arena.attach(descriptors[0], welcome.arena_bytes, writable=True, forks=False)
        os.close(descriptors[0])
        os.set_inheritable(descriptors[1], False)
        desk = Desk.attach(descriptors[1])
        mind_forks(channel)
        worker = Worker(channel, arena, desk, self._childhood.shared, self._childhood.own)
        worker.start_as(number, self._childhood.workers, self._childhood.signs)
        worker.serve()


def _all_of(channel: Channel[Any]) -> list[Any]:
    """Take all messages that have come; later ones wait for the next turn."""
    ready = channel.look_ahead()
    messages = list(ready)
    ready.clear()
    return messages


def _kill(pid: int) -> None:
    """Kill a child that was not reaped yet, and all it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
