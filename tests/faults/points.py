"""Every step at which a process can be hit, by who comes by, in the order of a sample's journey.

A nursery or worker that comes by is hit itself, or its job is (`orphan`), or all of its job's
processes are (`freeze`). Where a step needs something of its jobs (an own part, samples of
differing sizes) it says so.
"""

from dataclasses import dataclass
from itertools import product
from random import Random

KINDS = {
    "job": ("kill", "stop", "oom", "freeze"),
    "nursery": ("kill", "stop", "orphan", "freeze"),
    "worker": ("kill", "stop", "oom", "orphan", "freeze"),
    "daemon": ("kill", "stop", "oom", "term", "gone", "hang", "full"),
}
# Faults after which jobs get no daemon before they have read all: none can be started, or it does
# not answer, or the next one has no room for anybody.
NEVER_BACK = ("gone", "hang", "full")
ONCE, OFTEN = 1, 8


@dataclass(frozen=True)
class Step:
    """A step of the journey, and how often it comes by at least."""

    name: str
    halves: bool = False
    times: int = ONCE
    own: bool = False
    ragged: bool = False
    slow: bool = False  # it needs a row that takes long
    child: str = ""  # it needs a process that user code has forked: in the job, or in a worker
    whens: tuple[str, ...] = ("before", "after")

    def points(self) -> list[tuple["Step", str]]:
        return [(self, when) for when in (*self.whens, *(("half",) if self.halves else ()))]


STEPS = {
    "job": (
        Step("welcome", halves=True),
        Step("send Register", halves=True),
        Step("get Registered"),
        Step("send Attend", halves=True),
        Step("send Begin", halves=True),
        Step("send Want", halves=True, times=OFTEN),
        Step("get Deliver", times=OFTEN),
        Step("gather", times=OFTEN),
        Step("send Release", halves=True, times=OFTEN),
        Step("epoch end"),
        Step("leave"),
        Step("send Stop", halves=True),
        Step("child", child="job", whens=("after",)),
    ),
    "nursery": (
        Step("birth"),
        Step("send Born", halves=True),
        Step("attend"),
        Step("hello", halves=True),
        Step("bear", halves=True),
        Step("reap"),
        Step("send Ended", halves=True),
        Step("hang up"),
    ),
    "worker": (
        Step("fork", whens=("after",)),
        Step("hello", halves=True),
        Step("get Prepare", times=OFTEN),
        Step("prepare", times=OFTEN),
        Step("send Sized", halves=True, ragged=True),
        Step("get Place", ragged=True),
        Step("write", halves=True, times=OFTEN),
        Step("send Prepared", halves=True, times=OFTEN),
        Step("get Finish", own=True, times=OFTEN),
        Step("own part", own=True, times=OFTEN),
        Step("get HandBack", slow=True),
        Step("send NotBegun", halves=True, slow=True),
        Step("child", child="worker", whens=("after",)),
    ),
    "daemon": (
        Step("get Hello", whens=("before",)),
        Step("send Welcome"),
        Step("get Register"),
        Step("send Registered", halves=True),
        Step("attend"),
        Step("send Bear", halves=True),
        Step("arrive"),
        Step("get Begin"),
        Step("get Want", times=OFTEN),
        Step("plan", times=OFTEN),
        Step("send Prepare", halves=True, times=OFTEN),
        Step("get Sized", ragged=True),
        Step("send Place", halves=True, ragged=True),
        Step("get Prepared", times=OFTEN),
        Step("send Finish", halves=True, own=True, times=OFTEN),
        Step("send HandBack", halves=True, slow=True),
        Step("get NotBegun", slow=True),
        Step("send Deliver", halves=True, times=OFTEN),
        Step("get Release", times=OFTEN),
        Step("get Ended"),
        Step("lost"),
        Step("leave"),
    ),
}

Point = tuple[str, str, str, Step]  # victim, kind, when, step


def all_points() -> list[Point]:
    """Return every fault there is, but for how often its step comes by before."""
    return [
        (victim, kind, when, step)
        for victim, steps in STEPS.items()
        for kind, (step, when) in product(
            KINDS[victim], [p for step in steps for p in step.points()]
        )
    ]


def name_of(point: Point) -> str:
    """Name a point as it is counted: worker kill half write."""
    victim, kind, when, step = point
    return f"{victim} {kind} {when} {step.name}"


def dealt(count: int, seed: int, only: str = "") -> list[Point]:
    """Return so many points, none more often than another but for once; `only` with this text."""
    random, points = Random(seed), []
    while len(points) < count:
        whole = [point for point in all_points() if only in name_of(point)]
        if not whole:
            raise ValueError(f"no point has {only!r} in its name; see tests/faults/points.py")
        random.shuffle(whole)
        points += whole
    return points[:count]
