"""The jobs of a soak: random ones that come, leave, die and go on, and the account of each."""

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

from tests.faults import family
from tests.faults.account import check
from tests.faults.family import state
from tests.faults.injector import Armed
from tests.faults.job import JobSpec, fork, lines
from tests.faults.node import Node, Violation

SILENCE_S = 90.0  # a job that reads nothing for so long hangs
RECIPES = 6
MOST_ROWS = 400


class Member:
    """A job, dead or alive, and what it has noted so far."""

    def __init__(self, spec: JobSpec, node: Node) -> None:
        self.spec = spec
        self._node = node
        self.log = node.folder / f"{spec.key}-{spec.name}.log"
        self.pid = 0  # while it lives
        self.back_at = 0.0  # when it goes on, after it was killed
        self.stopped_until = 0.0
        self.rows = 0
        self.by_itself = 0  # rows, as there was no daemon for it
        self.heard = time.monotonic()
        self._offset = 0
        self._passes: dict[int, Counter[int]] = {}
        self._wanted = Counter(spec.rows)

    def start(self) -> None:
        # No fault is ever armed there: what is done to a soak is done from outside.
        self.pid = fork(self.spec, self.log, Armed(self._node.folder), self._node.folder)
        self.heard = time.monotonic()

    def processes(self) -> list[int]:
        """Return what there is of the job: itself, nurseries, workers."""
        return family.found(*family.ROLES, job=self.spec.name)

    def listen(self) -> None:
        """Take in what it has noted since: no row more often than it should come."""
        if not self.log.exists():
            return
        with self.log.open("rb") as log:
            log.seek(self._offset)
            data = log.read()
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        for line in map(json.loads, data.splitlines()):
            self.heard = time.monotonic()
            if "rows" in line:
                self._take(line)
            self.by_itself += line.get("by_itself", 0)

    def _take(self, line: dict[str, Any]) -> None:
        seen = self._passes.setdefault(line["epoch"], Counter())
        seen.update(line["rows"])
        self.rows += len(line["rows"])
        twice = {row: n for row in line["rows"] if (n := seen[row]) > self._wanted[row]}
        if twice:
            raise Violation(f"{self.spec.name} read too often, in one pass: {twice}")

    def check_silence(self) -> None:
        quiet_s = time.monotonic() - self.heard
        if self.pid and not self.stopped_until and quiet_s > SILENCE_S:
            last = lines(self.log)[-1:]
            raise Violation(f"{self.spec} has read nothing for {quiet_s:.0f} s; its last: {last}")

    def check_end(self) -> None:
        check(self.spec, lines(self.log))
        self.log.unlink()


class Crowd:
    """All jobs of the moment."""

    def __init__(self, node: Node, random: Random, fallback: float) -> None:
        """`fallback`: this part of the jobs may load by themselves."""
        self._node, self._random, self._fallback = node, random, fallback
        self.members: list[Member] = []
        self.counts: Counter[str] = Counter()
        self._rows_of_gone = 0
        self._recipes = [self._new_recipe(number) for number in range(RECIPES)]

    @property
    def rows(self) -> int:
        return self._rows_of_gone + sum(member.rows for member in self.members)

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.members if member.pid]

    def _new_recipe(self, number: int) -> dict[str, Any]:
        random = self._random
        return {
            "key": f"data{number}",
            "row_limit": random.randint(MOST_ROWS // 4, MOST_ROWS),
            "ragged": random.random() < 0.3,
            "deterministic": random.random() < 0.5,
            "cost_s": random.choice([0.0, 0.0, 0.0005, 0.002]),
        }

    def join(self) -> None:
        """Let one more job come."""
        random, recipe = self._random, self._random.choice(self._recipes)
        limit = recipe["row_limit"]
        rows = random.sample(range(limit), random.randint(limit // 4, limit))
        self.counts["jobs"] += 1
        spec = JobSpec(
            name=f"j{self.counts['jobs']}",
            rows=rows + (rows[:5] if random.random() < 0.1 else []),
            batch_size=random.randint(4, 12),
            order=random.choice(
                ["shared", "shared", "shared", "shared", "seeded", "given", "told"]
            ),
            passes=random.randint(1, 3),
            own=random.random() < 0.15,
            pause_s=random.choice([0.0, 0.002, 0.01, 0.03]),
            fallback=random.random() < self._fallback,
            workers=random.choice([None, None, 1, 2]),
            leaves_after=random.randint(1, 30) if random.random() < 0.2 else 0,
            **recipe,
        )
        self.members.append(Member(spec, self._node))
        self.members[-1].start()

    def tend(self) -> None:
        """Hear all, bury who died, let go on who is to, and check who has ended."""
        now = time.monotonic()
        for member in list(self.members):
            member.listen()
            member.check_silence()
            if member.stopped_until and now >= member.stopped_until:
                self.resume(member)
            if not member.pid:
                if now >= member.back_at:
                    self.counts["resumed"] += 1
                    member.start()
                continue
            ended, how = os.waitpid(member.pid, os.WNOHANG)
            if ended:
                self._ended(member, how)

    def tend_living(self) -> None:
        """Only hear what is read: nobody is started, and who died is buried later."""
        for member in self.members:
            member.listen()
            if member.stopped_until and time.monotonic() >= member.stopped_until:
                self.resume(member)

    def _ended(self, member: Member, how: int) -> None:
        member.pid = 0
        member.listen()
        if os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGKILL and member.back_at:
            if self._random.random() < 0.2:  # it never comes back
                self.counts["given up"] += 1
                self._remove(member)
            return
        if how:
            check(member.spec, lines(member.log), ended=False)
            raise Violation(f"{member.spec.name} ended with status {how}")
        member.check_end()
        self.counts["left early" if member.spec.leaves_after else "read to the end"] += 1
        self._remove(member)

    def _remove(self, member: Member) -> None:
        self.members.remove(member)
        if member.stopped_until:  # what was stopped with it may not see that it is gone
            self.resume(member)
        self._rows_of_gone += member.rows
        self.counts["rows loaded by jobs themselves"] += member.by_itself
        member.log.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill a job; it goes on later, or never."""
        alive = self.alive
        if alive:
            member = self._random.choice(alive)
            member.back_at = time.monotonic() + self._random.choice([0.0, 0.5, 3.0])
            os.kill(member.pid, signal.SIGKILL)
            self.counts["jobs killed"] += 1

    def stop(self, *, frozen: bool = False) -> None:
        """Stop a job for a while, its own process or all of them."""
        running = [member for member in self.alive if not member.stopped_until]
        if running:
            member = self._random.choice(running)
            member.stopped_until = time.monotonic() + self._random.uniform(0.2, 6.0)
            os.kill(member.pid, signal.SIGSTOP)
            if frozen:
                family.signal_all(member.processes(), signal.SIGSTOP)
            self.counts["jobs frozen" if frozen else "jobs stopped"] += 1

    def resume(self, member: Member) -> None:
        member.stopped_until = 0.0
        member.heard = time.monotonic()
        if member.pid and state(member.pid) not in "ZX":
            with suppress(ProcessLookupError):
                os.kill(member.pid, signal.SIGCONT)
        family.signal_all(member.processes(), signal.SIGCONT)
