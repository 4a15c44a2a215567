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

from joader.client.reading.connection import Connection
from joader.daemon.lifecycle import connected
from joader.daemon.start_lock import start_lock
from joader.messages import AskStatus, Status
from tests.faults.family import children, state

ROOT = Path(__file__).parents[2]
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 40.0  # the machine may be busy with other things


class Violation(Exception):
    """A promise was broken."""


class Node:
    """A folder with one daemon after another."""

    def __init__(
        self, folder: Path, memory_bytes: int, workers: int, *, wrapped: bool = True
    ) -> None:
        """`wrapped`: the daemon looks whether a fault is armed."""
        self.folder = folder
        self.wrapped = wrapped
        self.socket = folder / "daemon.sock"
        self.memory_bytes, self.size = memory_bytes, workers
        self.log = folder / "daemon.log"
        self.daemon: subprocess.Popen[bytes] | None = None
        self.fresh: Counter[str] = Counter()  # descriptors of the daemon before any job came
        self.keeps = False  # it has prepared what may be kept when its jobs are gone
        folder.mkdir(mode=0o700)

    def start(self, memory_bytes: int = 0) -> None:
        """Start a daemon under test; who calls holds the start lock, or is alone.

        It ends by itself when we are killed and nobody ends it. `memory_bytes`: if not as ever.
        """
        module = "tests.faults.daemon" if self.wrapped else "joader.daemon.main"
        command = [sys.executable, "-m", module, f"--socket={self.socket}"]
        command += [
            f"--memory={memory_bytes or self.memory_bytes}",
            f"--workers={self.size}",
            "--idle=60",
        ]  # should we be killed
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        variables = {"PYTHONPATH": path, "JOADER_FAULTS": str(self.folder)}
        variables["JOADER_RUNTIME"] = str(self.folder)
        self.keeps = False
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
        """See that a daemon without jobs holds nothing of theirs, but samples that are kept."""
        assert self.daemon is not None
        pid = self.daemon.pid
        found: dict[str, Any] = {}

        def idle() -> bool:
            found.update(self.status())
            found["children"] = children(pid)
            found["descriptors"] = dict(descriptors(pid) - self.fresh)
            memory = found["memory"]
            return (
                not (found["jobs"] or found["workers"] or found["children"] or found["descriptors"])
                and memory["pinned_bytes"] == 0
                and (memory["used_bytes"] == 0 or self.keeps)
            )

        try:
            self.wait("the daemon holds nothing", idle)
        except Violation as error:
            raise Violation(f"{error}; it has {found}") from None

    def why(self) -> str:
        """Say what the daemon knows, for a report of what hangs."""
        try:
            return f"the daemon says {self.status()}"
        except Exception as error:  # it may be what hangs
            return f"the daemon does not say what it has: {error}"

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
        status = self.status()
        pid = status["pid"]
        if status["memory"]["pinned_bytes"]:
            self.wait("memory is let go", lambda: not self.status()["memory"]["pinned_bytes"])
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


def descriptors(pid: int, *, whole: bool = False) -> Counter[str]:
    """Count the open descriptors of a process by kind, or by their whole names."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(entry)
        except OSError:
            continue
        kinds[name if whole else name.split(":")[0]] += 1
    return kinds
