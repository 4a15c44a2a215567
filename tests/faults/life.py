"""One life of a node under test: a few faults one after the other, each amid reading jobs.

All of it follows from the life's seed and its points, but for the timing between processes. After
each fault the jobs that survived and those that were started again must have read each position
once a pass; then the daemon must hold nothing, and at the end nothing may be left of anything.
"""

import importlib
import os
import shutil
import signal
import tempfile
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from tests.faults.case import Case
from tests.faults.family import children, state
from tests.faults.injector import Fault
from tests.faults.job import TIMEOUT_S, JobSpec
from tests.faults.node import Node, Violation, adopt_orphans
from tests.faults.points import NEVER_BACK, Point, Step, name_of

TRIES = 3  # of a fault that did not come by
SUPERVISED = 0.8  # of killed daemons are started again by us, the others by a job
# Of lives in which jobs have to do without a daemon have torch loaded: its workers read then.
WITH_TORCH = 0.7
RANKS = 0.3  # of faults that ranks outlive hit a job of two ranks
# How long a job waits for a daemon that hangs; no row takes so long.
PATIENCE_S = 6.0


@dataclass
class Life:
    """What came of a life."""

    seed: int
    fired: list[str] = field(default_factory=list)  # names of points
    unfired: list[str] = field(default_factory=list)
    rows: int = 0
    violation: str = ""


def live(seed: int, points: list[Point], stop_s: float) -> Life:
    """Live one life; what was broken is in its `violation`."""
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="jf-"))
    life, random = Life(seed), Random(seed)
    node = Node(folder / "n", 1024 * random.randint(160, 320), random.randint(1, 2))
    if random.random() < WITH_TORCH and any(kind in NEVER_BACK for _, kind, *_ in points):
        importlib.import_module("torch")  # once, for all jobs: they are forked from here
    try:
        _live(life, random, points, stop_s, node)
    except Exception as error:  # whatever it is, it belongs to this life
        what = str(error) if isinstance(error, Violation) else traceback.format_exc()
        life.violation = f"{what}\nthe daemon's log ends:\n{node.tail()}"
    finally:
        end_all()
        shutil.rmtree(folder, ignore_errors=True)
    return life


def _live(life: Life, random: Random, points: list[Point], stop_s: float, node: Node) -> None:
    number = 0
    for point in points:
        victim, kind, when, step = point
        fired = False
        for attempt in range(TRIES):
            number += 1
            nth = 1 if attempt else random.randint(1, step.times)
            who = "j0" if victim == "job" or kind in ("orphan", "freeze") else ""
            fault = Fault(number, victim, kind, step.name, when, nth, who)
            specs = specs_for(random, number, step, least=2 if kind == "freeze" else 1)
            if kind in NEVER_BACK:
                timeout_s = PATIENCE_S if kind == "hang" else TIMEOUT_S
                more = {"fallback": True, "timeout_s": timeout_s}
                more["workers"] = random.choice([None, 1, 2])
                specs = [replace(one, **more) for one in specs]
            elif spares_ranks(point) and random.random() < RANKS:
                specs = [*ranks_of(specs[0]), *specs[1:2]]
            supervised = victim == "daemon" and random.random() < SUPERVISED
            supervised = kind == "full" or (supervised and kind not in NEVER_BACK)
            case = Case(node, fault, specs, stop_s, supervised)
            try:
                fired = case.run()
            except Violation as error:
                raise Violation(f"{fault.name}: {error}") from error
            life.rows += sum(len(spec.rows) * spec.passes for spec in specs)
            if fired:
                break
        (life.fired if fired else life.unfired).append(name_of(point))
    node.down()
    for log in (node.log, node.folder / "jobs.log"):
        if log.exists() and "Traceback" in log.read_text():
            raise Violation(f"somebody raised: {log.read_text()[-3000:]}")
    node.wait("no process is left", lambda: not left())


def specs_for(random: Random, case: int, step: Step, least: int = 1) -> list[JobSpec]:
    """Return one to three jobs on parts of one dataset, with what the step needs."""
    limit = random.randint(16, 56)
    ragged = step.ragged or random.random() < 0.3
    deterministic = random.random() < 0.3
    cost_s = random.choice([0.0, 0.0, 0.001, 0.003])
    child = step.child or random.choice(["job", "worker", *[""] * 14])
    made = []
    for number in range(random.randint(least, 3)):
        rows = random.sample(range(limit), random.randint(limit // 2, limit))
        slow_row = rows[0] if step.slow and not number else -1
        if random.random() < 0.1:
            rows += rows[:3]
        made.append(
            JobSpec(
                name=f"j{number}",
                # What one job's dataset does beside is not what another's does.
                key=f"case{case}" if slow_row < 0 and not child else f"case{case}-{number}",
                rows=rows,
                row_limit=limit,
                batch_size=random.randint(2, 8),
                order=random.choice(["shared", "shared", "shared", "seeded", "given", "told"]),
                passes=1 if step.slow else random.randint(1, 2),
                own=step.own or random.random() < 0.2,
                ragged=ragged,
                deterministic=deterministic,
                pause_s=random.choice([0.0, 0.0, 0.002, 0.01]),
                cost_s=cost_s,
                fallback=random.random() < 0.5,
                workers=random.choice([None, None, 1, 2]),
                slow_row=slow_row,
                child=child if not number else "",
            )
        )
    return made


def spares_ranks(point: Point) -> bool:
    """Tell whether a fault is one that the ranks of a job outlive: none of them dies of it."""
    victim, kind, _, step = point
    dies = kind in ("orphan", "freeze", *NEVER_BACK) or (victim == "job" and kind != "stop")
    return not (dies or step.child)


def ranks_of(spec: JobSpec) -> list[JobSpec]:
    """Return two ranks of one job that read what a job would, in equal steps."""
    rows = spec.rows[: len(spec.rows) // 2 * 2]
    order = "given" if spec.order == "told" else spec.order
    one = replace(spec, rows=rows, order=order, world_size=2, fallback=False, child="")
    return [replace(one, rank=0), replace(one, name="r1", rank=1)]


def left() -> list[int]:
    """Return the processes below this one; those that have ended are collected."""
    for pid in children(os.getpid()):
        if state(pid) == "Z":
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return [pid for pid in children(os.getpid()) if state(pid) not in "ZX"]


def end_all() -> None:
    """End what a broken promise has left."""
    for _ in range(100):
        if not (pids := left()):
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
