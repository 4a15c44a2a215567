"""One fault amid reading jobs: what stops is let go on, what was killed is started again.

A job that is *frozen*, all its processes stopped, goes on when the others have read all of theirs:
nobody may wait for rows that its workers had in hand.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.faults import family
from tests.faults.account import check, check_ranks
from tests.faults.family import state
from tests.faults.injector import Armed, Fault
from tests.faults.job import JobSpec, fork, lines
from tests.faults.node import Node, Violation, descriptors
from tests.faults.points import NEVER_BACK

# The machine may be busy with other things.
CASE_S = 120.0
LATE_S = 0.5  # how long it may take to come by the last step after the last job ended
# A nursery that is stopped does not see its job end; a daemon that knows it kills it after a while.
UNSEEN_S = 4.0
STOPS = ("stop", "freeze", "hang")
FULL_BYTES = 4096  # a budget in which no job's share has room, or the smallest one's only


class Case:
    """A fault, and the jobs it hits or spares."""

    def __init__(
        self, node: Node, fault: Fault, specs: list[JobSpec], stop_s: float, supervised: bool
    ) -> None:
        self._node, self._fault, self._specs = node, fault, specs
        self._stop_s, self._supervised = stop_s, supervised
        self._armed = Armed(node.folder)
        self._victim: int | None = None
        self._running: dict[int, JobSpec] = {}
        self._resume_at = 0.0
        self._resumed = False
        self._lock = ExitStack()

    def run(self) -> bool:
        """See all jobs through, look at what they read, and return whether the fault came by."""
        self._start_daemon()
        self._armed.arm(self._fault)
        jobs = self._running = {self._fork(spec): spec for spec in self._specs}
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
        if self._fault.victim != "job":
            self._until(lambda: self._armed.fired(self._fault), LATE_S)
        self._victim = self._armed.disarm(self._fault)
        self._armed.bar(again=True)
        self._bury_daemon()
        for spec in self._specs:
            check(spec, lines(self.log_of(spec)), by_itself=self._fault.kind in NEVER_BACK)
        if ranks := [spec for spec in self._specs if spec.world_size > 1]:
            check_ranks(ranks, [lines(self.log_of(spec)) for spec in ranks])
        self._look_at_processes()
        self._look_at_daemon()
        self._end_users_children()
        return self._victim is not None

    def _bury_daemon(self) -> None:
        daemon = self._node.daemon
        if self._fault.victim == "daemon":
            self._resume_at = 0.0
            if self._kills_daemon and daemon is not None and self._victim == daemon.pid:
                self._node.wait("the daemon dies", lambda: daemon.poll() is not None)
            self._tend()

    def log_of(self, spec: JobSpec) -> Path:
        return self._node.folder / f"{spec.key}-{spec.name}.log"

    @property
    def _kills_daemon(self) -> bool:
        return self._fault.victim == "daemon" and self._fault.kind not in STOPS

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
            if self._fault.kind == "freeze":
                self._node.wait("a job freezes", self._is_frozen)

    def _is_frozen(self) -> bool:
        """Stop all processes of the job that is hit; it may have forked meanwhile.

        Who came by the step stops by itself: stopped twice, it would stop again once it goes on.
        """
        pids = family.found(*family.ROLES, job=self._fault.who)
        running = [pid for pid in pids if state(pid) != "T" and pid != self._victim]
        family.signal_all(running, signal.SIGSTOP)
        return all(state(pid) in "TZX" for pid in pids)

    def _tend(self) -> None:
        """Let a process go on that has stopped long enough, and see to a daemon that died."""
        if self._victim and self._fault.kind in STOPS and not self._resumed:
            others = [s.name for s in self._running.values() if s.name != self._fault.who]
            waits = others if self._fault.kind in ("freeze", "hang") else []
            if time.monotonic() >= self._resume_at and not waits:
                self._resume()
        daemon = self._node.daemon
        if daemon is not None and daemon.poll() is not None:
            self._after_daemon(daemon.pid, daemon.returncode)

    def _resume(self) -> None:
        victim = self._victim
        assert victim is not None
        self._resumed = True
        self._node.wait("the process stops", lambda: state(victim) in "TZX")
        frozen = family.found(*family.ROLES, job=self._fault.who) if self._fault.who else []
        family.signal_all([victim, *frozen], signal.SIGCONT)

    def _after_daemon(self, pid: int, code: int) -> None:
        """See that a killed daemon's workers follow it; start it again, or leave it to jobs."""
        node, node.daemon = self._node, None
        if not self._kills_daemon or code != (0 if self._fault.kind == "term" else -9):
            raise Violation(f"the daemon (process {pid}) ended with {code}")
        workers = family.found("worker")
        node.wait(
            "a dead daemon's workers follow it", lambda: all(state(w) in "ZX" for w in workers)
        )
        if self._supervised and not node.listens():
            node.start(FULL_BYTES if self._fault.kind == "full" else 0)
        self._lock.close()

    def _collect(self, jobs: dict[int, JobSpec]) -> None:
        """Start the job again that was killed; others must end well."""
        for pid in list(jobs):
            ended, how = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            spec = jobs.pop(pid)
            if os.WIFSIGNALED(how) and pid == self._armed.fired(self._fault):
                # It may have been born again before its workers have seen that it is gone.
                jobs[self._fork(spec)] = spec
            elif how:
                check(spec, lines(self.log_of(spec)), ended=False)
                raise Violation(f"{spec.name} ended with status {how}")

    def _look_at_processes(self) -> None:
        """See that nothing is left of jobs; what was stopped late is dead, or dies once it goes on.

        A daemon ends who cannot see that its job is gone, so it is not let go on at once.
        """
        if self._victim and self._fault.kind in STOPS and not self._resumed:
            if self._fault.kind != "hang":
                self._until(lambda: state(self._victim or 0) in "ZX", UNSEEN_S)
            self._resume()
        names = [spec.name for spec in self._specs]

        def members() -> list[int]:
            return [pid for name in names for pid in family.found(*family.ROLES, job=name)]

        try:
            self._node.wait("nothing is left of jobs", lambda: not members())
        except Violation as error:
            raise Violation(f"{error}; there are {family.told(members())}") from None

    def _look_at_daemon(self) -> None:
        node = self._node
        node.keeps = node.keeps or any(spec.deterministic for spec in self._specs)
        if node.daemon is not None:
            node.check_idle()
            if self._fault.kind == "full":
                node.down()
        elif node.socket.exists() and node.listens():
            node.end_other()

    def _end_users_children(self) -> None:
        """See that what users have forked outlived their jobs, and has nothing of ours."""
        pids = family.users_children()
        if self._victim and self._fault.step == "child" and not pids:
            raise Violation("a process that user code has forked did not outlive the job")
        for pid in pids:
            maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
            has = [name for name in (*maps, *descriptors(pid, whole=True)) if "joader-" in name]
            if has:
                raise Violation(f"process {pid}, which user code has forked, has {has}")
        family.signal_all(pids, signal.SIGKILL)

    def _until(self, condition: Callable[[], object], most_s: float) -> None:
        deadline = time.monotonic() + most_s
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.004)

    def _fork(self, spec: JobSpec) -> int:
        return fork(spec, self.log_of(spec), self._armed, self._node.folder)

    def _late(self, specs: list[JobSpec]) -> str:
        told = [f"{spec}: {lines(self.log_of(spec))[-1:]}" for spec in specs]
        processes = family.told(list(family.below(os.getpid())))
        return f"jobs hang: {'; '.join(told)}; processes {processes}; {self._node.why()}"
