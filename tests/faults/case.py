"""One fault amid reading jobs: what stops is let go on, what was killed is started again."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.faults.account import check
from tests.faults.injector import Armed, Fault
from tests.faults.job import JobSpec, fork, lines
from tests.faults.node import Node, Violation, children, command, descriptors, state

CASE_S = 60.0
LATE_S = 0.5  # how long a daemon may need to come by its last step after its last job ended


class Case:
    """A fault, and the jobs it hits or spares."""

    def __init__(
        self, node: Node, fault: Fault, specs: list[JobSpec], stop_s: float, supervised: bool
    ) -> None:
        self._node, self._fault, self._specs = node, fault, specs
        self._stop_s, self._supervised = stop_s, supervised
        self._armed = Armed(node.folder)
        self._victim: int | None = None
        self._resume_at = 0.0
        self._resumed = False
        self._lock = ExitStack()

    def run(self) -> bool:
        """See all jobs through, look at what they read, and return whether the fault came by."""
        self._start_daemon()
        self._armed.arm(self._fault)
        jobs = {self._fork(spec): spec for spec in self._specs}
        with self._lock:
            if self._supervised:  # jobs wait at the lock until we have started a daemon again
                self._lock.enter_context(self._node.lock())
            deadline = time.monotonic() + CASE_S + self._stop_s
            while jobs:
                self._notice()
                self._tend()
                self._collect(jobs)
                if time.monotonic() > deadline:
                    raise Violation(self._late(list(jobs.values())))
                time.sleep(0.004)
        if self._fault.victim == "daemon":
            self._until(lambda: self._armed.fired(self._fault), LATE_S)
        self._victim = self._armed.disarm(self._fault)
        self._resume_at = 0.0
        daemon = self._node.daemon
        if self._kills_daemon and daemon is not None and self._victim == daemon.pid:
            self._node.wait("the daemon dies", lambda: daemon.poll() is not None)
        self._tend()
        for spec in self._specs:
            check(spec, lines(self.log_of(spec)))
        self._look_at_daemon()
        return self._victim is not None

    def log_of(self, spec: JobSpec) -> Path:
        return self._node.folder / f"{spec.key}-{spec.name}.log"

    @property
    def _kills_daemon(self) -> bool:
        return self._fault.victim == "daemon" and self._fault.kind != "stop"

    def _start_daemon(self) -> None:
        node = self._node
        if node.daemon is None:
            node.start()
            if not node.fresh:
                node.status()
                node.fresh = descriptors(node.daemon.pid)

    def _notice(self) -> None:
        """Notice that the fault has come by."""
        if self._victim is None and (found := self._armed.fired(self._fault)) is not None:
            self._victim = found
            self._resume_at = time.monotonic() + self._stop_s

    def _tend(self) -> None:
        """Let a process go on that has stopped long enough, and see to a daemon that died."""
        victim, stops = self._victim, self._fault.kind == "stop"
        if victim and stops and not self._resumed and time.monotonic() >= self._resume_at:
            self._resumed = True
            self._node.wait("the process stops", lambda: state(victim) in "TZX")
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)
        daemon = self._node.daemon
        if daemon is not None and daemon.poll() is not None:
            self._after_daemon(daemon.pid, daemon.returncode)

    def _after_daemon(self, pid: int, code: int) -> None:
        """See that a killed daemon's workers follow it; start it again, or leave it to jobs."""
        node, node.daemon = self._node, None
        if not self._kills_daemon or code != (0 if self._fault.kind == "term" else -9):
            raise Violation(f"the daemon (process {pid}) ended with {code}")
        node.wait("a dead daemon's workers follow it", lambda: not _workers_of_nobody())
        if self._supervised and not node.listens():
            node.start()
        self._lock.close()

    def _collect(self, jobs: dict[int, JobSpec]) -> None:
        """Start the job again that was killed; others must end well."""
        for pid in list(jobs):
            ended, how = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            spec = jobs.pop(pid)
            if os.WIFSIGNALED(how) and pid == self._armed.fired(self._fault):
                jobs[self._fork(spec)] = spec
            elif how:
                check(spec, lines(self.log_of(spec)), ended=False)
                raise Violation(f"{spec.name} ended with status {how}")

    def _look_at_daemon(self) -> None:
        node = self._node
        if node.daemon is not None:
            node.check_idle()
        elif node.socket.exists() and node.listens():
            node.end_other()

    def _until(self, condition: Callable[[], object], most_s: float) -> None:
        deadline = time.monotonic() + most_s
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.004)

    def _fork(self, spec: JobSpec) -> int:
        return fork(spec, self.log_of(spec), self._armed, self._node.folder)

    def _late(self, specs: list[JobSpec]) -> str:
        told = [f"{spec}: {lines(self.log_of(spec))[-1:]}" for spec in specs]
        family = [(pid, state(pid)) for pid in children(os.getpid())]
        return f"jobs hang: {'; '.join(told)}; processes {family}"


def _workers_of_nobody() -> list[int]:
    """Return workers under test whose daemon is gone: they are our children now."""
    ours = [pid for pid in children(os.getpid()) if state(pid) not in "ZX"]
    return [pid for pid in ours if "tests.faults.worker" in command(pid)]
