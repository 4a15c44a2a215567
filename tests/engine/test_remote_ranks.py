"""Ranks that get their samples on other nodes: told steps, granted them, and nothing prepared."""

import numpy as np

from joader.engine import Engine
from joader.engine.courses import Courses
from joader.messages import (
    Begin,
    Event,
    Grant,
    Instruction,
    Join,
    Know,
    Leave,
    Prepare,
    Reassign,
    Refuse,
    Sized,
    Steps,
    Want,
)
from joader.sampling.job_rows import JobRows

ROWS, BATCH = 100, 8


def rank(number: int, of: int = 3) -> Join:
    rows = np.arange(ROWS)
    return Join(
        *(number + 1, "photos", rows, ROWS, BATCH, "shared"),
        team="t",
        rank=number,
        world_size=of,
        remote=True,
        stream=7,
    )


class Host:
    """An engine with all ranks of a team, which say that they know what they are told."""

    def __init__(self) -> None:
        self.engine = Engine(1 << 12)
        self.said: list[Instruction] = []
        self.known: dict[int, list[list[int]]] = {1: [], 2: [], 3: []}
        self.granted: dict[int, list[int]] = {1: [], 2: [], 3: []}
        self.versions: list[int] = []
        self._courses = Courses(JobRows(np.arange(ROWS), ROWS))
        self.deaf: set[int] = set()

    def tell(self, *events: Event) -> None:
        answers: list[Event] = []
        for one in self.engine.handle(*events):
            self.said.append(one)
            if isinstance(one, Steps):
                steps = [self._courses.unpack(piece).tolist() for piece in one.pieces]
                assert one.first == len(self.known[one.job])
                self.known[one.job] += steps
                self.versions += [piece.version for piece in one.pieces]
                if one.job not in self.deaf:
                    answers.append(Know(one.job, len(self.known[one.job])))
            elif isinstance(one, Grant):
                self.granted[one.job].append(one.step)
        if answers:
            self.tell(*answers)

    def begin(self) -> None:
        for number in range(3):
            self.tell(rank(number))
        self.tell(*(Begin(job, key=job) for job in (1, 2, 3)))


def test_every_rank_is_told_the_same_steps_and_granted_them_in_order() -> None:
    host = Host()
    host.begin()
    steps = -(-ROWS // (3 * BATCH))
    for _ in range(steps):
        host.tell(*(Want(job, BATCH) for job in (1, 2, 3)))
    assert host.known[1] == host.known[2] == host.known[3]
    assert sorted({p for step in host.known[1] for p in step}) == list(range(ROWS))
    assert len(host.known[1][-1]) == 6  # 4 are left, and 2 fill it up
    assert all(host.granted[job] == list(range(steps)) for job in (1, 2, 3))
    assert not [one for one in host.said if isinstance(one, Prepare)]
    assert host.engine.pinned_bytes == 0


def test_no_step_is_granted_before_all_know_it() -> None:
    host = Host()
    host.deaf = {3}
    host.begin()
    host.tell(Want(1, BATCH))
    assert host.granted[1] == []
    text, all_here = host.engine.waits_for_ranks(1)
    assert "rank 2 is behind" in text
    assert all_here
    host.tell(Know(3, 1))
    assert host.granted[1] == [0]


def test_steps_are_of_the_version_in_force_when_they_are_planned() -> None:
    host = Host()
    for number in range(3):
        host.tell(rank(number))
    host.tell(Reassign(1, 4))
    host.tell(*(Begin(job, key=job) for job in (1, 2, 3)))
    host.tell(Reassign(1, 5))
    for _ in range(2):
        host.tell(*(Want(job, BATCH) for job in (1, 2, 3)))
    # Four steps are planned ahead; the last is filled up, and goes in order.
    assert host.versions == [4] * 12 + [0] * 3


def test_a_rank_that_leaves_is_named_to_those_that_need_it() -> None:
    host = Host()
    host.begin()
    host.tell(*(Want(job, BATCH) for job in (1, 2, 3)))
    host.tell(Leave(3))
    host.tell(Want(1, BATCH), Want(2, BATCH))
    refused = [one for one in host.said if isinstance(one, Refuse)]
    assert [one.job for one in refused] == [1, 2]
    assert all("rank 2 of job 't' has left" in one.reason for one in refused)


def test_remote_ranks_need_no_memory_here() -> None:
    host = Host()
    host.begin()
    # Two batches of theirs are 48 rows of 128 bytes, more than there is.
    host.tell(Join(9, "photos", np.arange(ROWS), ROWS, 4, "told"), Begin(9))
    host.tell(Want(9, 4, positions=np.arange(4)))
    orders = [one for one in host.said if isinstance(one, Prepare)]
    for order in orders:
        host.tell(Sized(order.samples, (100,) * len(order.samples)))
    assert orders
    assert not [one for one in host.said if isinstance(one, Refuse)]
