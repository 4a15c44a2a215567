"""A loader's nursery as its job sees it: started as torch would start workers, told whom to serve.

`multiprocessing` starts the process, by the context the user named or by Python's default. What it
does beyond starting would hurt, and is undone: its list of children would have the nursery joined
at exit, terminated by a process that the job forks, or waited for by users who join all children;
and in a process that is itself a daemon of a pool it would refuse.

A nursery belongs to the process that started it. It ends when nobody needs it (`end`), or with the
job, which it watches. Not here: what it does (workers/nursery.py).
"""

import multiprocessing
import multiprocessing.process
import os
import pickle
import secrets
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from joader.client import torch_api
from joader.errors import BadMessage, ConnectionLost, JoaderError, NoDaemon
from joader.messages import Attend, Born, FromChild, Stop, Unborn
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.watch import NO_SIGNS, Signs
from joader.wire import Channel, readable
from joader.workers.forks import let_go_of_memory

# How long a nursery may take to load the job's code anew: imports from a slow network disk.
_BIRTH_S = 600.0
_END_S = 0.2
_ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")

_starting = threading.Lock()
_ending: list[Any] = []  # processes that were told to end, to be reaped
_open: "weakref.WeakSet[Nursery]" = weakref.WeakSet()
# Descriptors of the job that no nursery may keep; who has one adds a function that tells it.
descriptors_to_close: "weakref.WeakSet[Any]" = weakref.WeakSet()


def _unlock_in_child() -> None:
    """Let a child that was forked under the lock have loaders of its own."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)


def _in_forked_child() -> None:
    """Leave the memory of daemons to this job: a child of it may outlive all of them."""
    if descriptors_to_close:
        let_go_of_memory()


os.register_at_fork(after_in_child=_in_forked_child)


def context_of(given: Any) -> Any:
    """Return how processes are started: as the user says, or as Python does here."""
    if given is None or isinstance(given, str):
        if torch_api.loaded() is not None:
            # torch's contexts send tensors as torch's own workers would.
            return sys.modules["torch.multiprocessing"].get_context(given)
        return multiprocessing.get_context(given)
    return given


def is_forking(context: Any) -> bool:
    """Tell whether a context's processes have all that the job has."""
    return bool(context.get_start_method() == "fork")


class Nursery:
    """The process from which one loader's workers are forked."""

    def __init__(
        self,
        context: Any,
        shared: SharedPart,
        own: OwnPart,
        workers: int,
        *,
        signs: Signs = NO_SIGNS,
        named: Any = None,
    ) -> None:
        """Start it; what cannot be pickled, where it has to be, raises as it does with torch.

        `signs`: of datasets that workers are not to read. `named`: what the recipe is named by,
        where it is to be named in the nursery.
        """
        # Here, as most loaders that are made start none; and before the fork, so that neither the
        # nursery nor any of its workers has to load it.
        from joader.workers.nursery import Childhood, be_nursery

        _reap()
        self.ticket = secrets.token_hex(16)
        self._owner = os.getpid()
        self.recipe, self.opaque, self.place = "", "", ""
        self.found = signs.found
        self._forked = is_forking(context)
        # One at a time, up to where others know what of this one they must not keep.
        with _starting:
            ours, theirs = socket.socketpair()
            childhood = Childhood(
                theirs, self._owner, shared, own, workers=workers, forked=self._forked
            )
            childhood.signs, childhood.named = signs, named
            if self._forked:
                mine = [ours.fileno()]
                for holder in (*_open, *descriptors_to_close):
                    mine += holder.descriptors()
                childhood.close = tuple(mine)
            try:
                self._process = context.Process(target=be_nursery, args=(childhood,))
                with _not_a_daemon(), _one_thread(self._forked):
                    self._process.start()
            except BaseException as error:
                ours.close()
                if not self._forked:
                    _name_what_cannot_travel(error, shared, own, context.get_start_method())
                raise
            finally:
                theirs.close()
            multiprocessing.process._children.discard(self._process)  # type: ignore[attr-defined]
            self._control: Channel[Any] = Channel(ours, FromChild)
            try:
                self.pidfd = os.pidfd_open(self._process.pid)
            except ProcessLookupError:  # it has ended, and somebody has reaped it
                self.pidfd = os.open(os.devnull, os.O_RDONLY)
            self._ended = False
            _open.add(self)
        if not self._forked:
            self._wait_for_name()

    def descriptors(self) -> list[int]:
        """Return what a nursery that is started beside this one must not keep."""
        return [] if self._ended else [self._control.socket.fileno(), self.pidfd]

    @property
    def alive(self) -> bool:
        """Whether it is this process's, and is there."""
        if self._ended or self._owner != os.getpid():
            return False
        return not readable(self.pidfd)

    def succeed(self, killed: "Nursery") -> bool:
        """Take the place of one that was killed: daemons take this one in under its ticket.

        False if the code was loaded anew and is other code now: that is another job's.
        """
        same = (self.recipe, self.place) == (killed.recipe, killed.place)
        if same and self._owner == killed._owner:
            self.ticket = killed.ticket
        return self.ticket == killed.ticket

    def attend(self, path: str, daemon_pid: int) -> None:
        """Have it serve a daemon, if it does not yet; it knows best whether it does.

        A daemon lets it go when the loader has had no connection for a while.
        """
        # One that was killed is missed by who waits for its rows, and another is born.
        with suppress(ConnectionLost):
            self._control.send(Attend(path, self.ticket, daemon_pid))

    def end(self) -> None:
        """Tell it to end, and wait a moment for it."""
        if self._ended or self._owner != os.getpid():
            return
        self._ended = True
        with suppress(JoaderError):
            self._control.send(Stop())
        readable(self.pidfd, _END_S)
        self._control.close()
        os.close(self.pidfd)
        _ending.append(self._process)
        _reap()

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """End it with the last who needs it; at the end of Python it sees for itself."""
        if hasattr(self, "_ended"):
            if _ends():
                self._control.leave_open()
            else:
                self.end()

    def _wait_for_name(self) -> None:
        """Wait until it has loaded the code, and take over what the recipe is called there."""
        try:
            born = self._control.receive(_BIRTH_S, watched=self.pidfd)
        except (ConnectionLost, TimeoutError) as error:
            self.end()
            raise NoDaemon(
                f"the process that was to bear this loader's workers ended while it loaded the "
                f"script anew (exit code {self._process.exitcode}): with the start method "
                f"{self._process._start_method!r} a script needs `if __name__ == '__main__':`, as "
                "with torch"
            ) from error
        if isinstance(born, Unborn):
            self.end()
            raise BadMessage(f"the nursery of this loader failed: {born.reason}")
        assert isinstance(born, Born)
        self.recipe, self.opaque, self.place = born.recipe, born.opaque, born.place


def _name_what_cannot_travel(
    error: BaseException, shared: SharedPart, own: OwnPart, start_method: str
) -> None:
    """Add to an error of pickling which of the loader's arguments it is about, if one is found."""
    arguments = {
        "dataset": shared.dataset,
        "prepare": shared.steps,
        "transform": own.steps,
        "worker_init_fn": shared.worker_init_fn,
    }
    name = next((n for n, value in arguments.items() if _fails_alike(value, error)), "")
    if name == "dataset":
        parts = getattr(shared.dataset, "__dict__", {})
        part = next((n for n, value in parts.items() if _fails_alike(value, error)), "")
        name = f"dataset.{part}" if part else name
    if name:
        error.add_note(
            f"joader: {name} cannot be pickled, as the start method {start_method!r} requires: use "
            "functions and classes that a module defines by name, not lambdas or functions inside "
            "functions, and open files in the worker"
        )


def _fails_alike(value: Any, error: BaseException) -> bool:
    """Tell whether pickling this raises the same error; what is written is not kept."""
    try:
        pickle.Pickler(_Nowhere()).dump(value)
    except Exception as own_error:
        return str(own_error) == str(error)
    return False


class _Nowhere:
    def write(self, data: Any) -> int:
        return len(data)


@contextmanager
def _not_a_daemon() -> Iterator[None]:
    """Let a process of a pool have children; multiprocessing forbids it to daemons."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before = config.get("daemon")
    config["daemon"] = False
    try:
        yield
    finally:
        if before is None:
            config.pop("daemon", None)
        else:
            config["daemon"] = before


@contextmanager
def _one_thread(forked: bool) -> Iterator[None]:
    """Let libraries that are loaded anew start no threads: workers are forked from there."""
    names = [f"{name}_NUM_THREADS" for name in _ONE_THREAD]
    mine = [] if forked else [name for name in names if name not in os.environ]
    os.environ.update(dict.fromkeys(mine, "1"))
    try:
        yield
    finally:
        for name in mine:
            os.environ.pop(name, None)


def _reap() -> None:
    """Take note of processes that have ended, so that none stays a zombie."""
    for process in list(_ending):
        with suppress(Exception):  # who ignores SIGCHLD, or waits for all children, has reaped it
            if process._popen.poll() is not None:
                _ending.remove(process)
                process._popen.close()
