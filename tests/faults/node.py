"""A daemon under test in a folder of its own, and a look at what it holds and what it leaves."""

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joader.client.connection import Connection
from joader.daemon.lifecycle import connected
from joader.daemon.start_lock import start_lock
from joader.messages import AskStatus, Status

ROOT = Path(__file__).parents[2]
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 15.0
# Descriptors: socket, pidfd, and the desk, of which Python's mmap has one more.
PER_WORKER = {"socket": 1, "anon_inode": 1, "/memfd": 2}


class Violation(Exception):
    """A promise was broken."""


class Node:
    """A folder with one daemon after another."""

    def __init__(
        self, folder: Path, memory_bytes: int, workers: int, *, wrapped: bool = True
    ) -> None:
        """`wrapped`: the daemon and its workers look whether a fault is armed."""
        self.folder = folder
        self.wrapped = wrapped
        self.socket = folder / "daemon.sock"
        self.memory_bytes, self.size = memory_bytes, workers
        self.log = folder / "daemon.log"
        self.daemon: subprocess.Popen[bytes] | None = None
        self.fresh: Counter[str] = Counter()  # descriptors of the daemon before any job came
        folder.mkdir(mode=0o700)

    def start(self) -> None:
        """Start a daemon under test; who calls holds the start lock, or is alone.

        It ends by itself when we are killed and nobody ends it.
        """
        module = "tests.faults.daemon" if self.wrapped else "joader.daemon.main"
        command = [sys.executable, "-m", module, f"--socket={self.socket}"]
        command += [
            f"--memory={self.memory_bytes}",
            f"--workers={self.size}",
            "--idle=60",
        ]  # should we be killed
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        variables = {"PYTHONPATH": path, "JOADER_FAULTS": str(self.folder)}
        variables["JOADER_RUNTIME"] = str(self.folder)
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", env={**os.environ, **variables}
            )
        self.wait("the daemon listens", self.listens)

    def listens(self) -> bool:
        sock = connected(self.socket)
        if sock is not None:
            sock.close()
        elif self.daemon is not None and self.daemon.poll() is not None:
            raise Violation(f"the daemon ended at once: {self.tail()}")
        return sock is not None

    def status(self) -> dict[str, Any]:
        connection = Connection(str(self.socket), start=False)
        try:
            body: dict[str, Any] = json.loads(connection.ask(AskStatus(), Status, 10.0).body)
        finally:
            connection.close()
        return body

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        """Wait for a condition; Violation if it does not come about."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise Violation(f"in {PATIENCE_S:.0f} s it did not come about that {what}")
            time.sleep(0.01)

    def check_idle(self) -> None:
        """See that a daemon without jobs holds nothing of theirs."""
        assert self.daemon is not None
        pid = self.daemon.pid
        found: dict[str, Any] = {}

        def idle() -> bool:
            status = self.status()
            memory = status["memory"]
            workers = children(pid)
            found["workers"] = [(worker, state(worker)) for worker in workers]
            found["jobs"] = status["jobs"]
            found.update(memory)
            found["descriptors"] = dict(descriptors(pid) - self.fresh)
            at_most = Counter({kind: n * status["workers"] for kind, n in PER_WORKER.items()})
            return (
                not status["jobs"]
                and memory["used_bytes"] == memory["pinned_bytes"] == 0
                and len(workers) == status["workers"]
                and all(state(worker) not in "ZT" for worker in workers)
                and descriptors(pid) - self.fresh <= at_most
            )

        try:
            self.wait("the daemon holds nothing", idle)
        except Violation as error:
            raise Violation(f"{error}; it has {found}") from None

    def check_gone(self, pid: int) -> None:
        """See that a daemon that is gone left no socket, no lock and no process behind."""
        self.wait(f"daemon {pid} is gone", lambda: state(pid) in "ZX")
        lock = os.open(f"{self.socket}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Violation("the start lock is still held") from None
        finally:
            os.close(lock)

    def down(self) -> None:
        """End the daemon as `joader down` does, and see that it leaves nothing."""
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                code = self.daemon.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise Violation(f"the daemon does not end: {self.tail()}") from None
            if code:
                raise Violation(f"the daemon ended with {code}: {self.tail()}")
            if self.socket.exists():
                raise Violation(f"{self.socket} is left behind")
            self.check_gone(self.daemon.pid)
        self.daemon = None

    def end_other(self) -> None:
        """End a daemon that a job has started."""
        pid = self.status()["pid"]
        os.kill(pid, signal.SIGTERM)
        self.wait(f"daemon {pid}, which a job started, ends", lambda: state(pid) in "ZX")
        if self.socket.exists():
            raise Violation(f"{self.socket} is left behind")

    def lock(self) -> Any:
        return start_lock(self.socket)

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def adopt_orphans() -> None:
    """Become the parent of whatever loses its own: so nothing that is left can hide."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int) -> list[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(word) for word in words]


def command(pid: int) -> str:
    """Return the command line of a process; empty: it is not there."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def state(pid: int) -> str:
    """Return the kernel's letter for what a process does; X: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def descriptors(pid: int) -> Counter[str]:
    """Count the open descriptors of a process by kind."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            kinds[os.readlink(entry).split(":")[0]] += 1
        except OSError:
            continue
    return kinds
