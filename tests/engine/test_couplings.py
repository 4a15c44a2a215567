"""Jobs on two nodes that draw jointly: one engine draws, the other is sent what comes."""

import random
from typing import Any

import numpy as np
import pytest

from joader.engine import Engine, Limits
from joader.errors import BadArgument
from joader.messages import Begin, Couple, Drew, Instruction, Join, Leave, Prepare, Uncouple, Want
from tests.engine.world import World
from tests.sampling.uniformity import ALPHA, next_draw_p_values
from tests.trials import trials

JOB, OTHER, GUEST = 1, 2, 100
# A row is drawn shortly before it is read, so that not all of a small pass is drawn at once.
SHORT = Limits(share_batches=1, least_ahead=1, horizon_s=0.001)


class Node(World):
    """A node, and what it has to send."""

    def __init__(self, seed: int, limits: Limits | None = None) -> None:
        super().__init__(400 * 128, lambda row: 100, limits)
        self.engine = Engine(self.capacity, seed=seed, limits=limits)
        self.to_send: list[Drew] = []

    def carry_out(self, instruction: Instruction) -> None:
        if isinstance(instruction, Drew):
            self.to_send.append(instruction)
        else:
            super().carry_out(instruction)


class TwoNodes:
    """`there` draws for a job of `here`, with one of its own."""

    def __init__(
        self,
        rows: Any,
        others: Any,
        *,
        row_limit: int,
        batch: int = 1,
        limits: Limits | None = None,
        seed: int = 0,
        cheats: bool = False,
    ) -> None:
        self.cheats = cheats
        self.here, self.there = Node(2 * seed, limits), Node(2 * seed + 1, limits)
        self.batch, self.row_limit = batch, row_limit
        terms = {"row_limit": row_limit, "batch_size": batch, "order": "joint"}
        self.here.join(Join(JOB, "photos", np.asarray(rows), **terms))
        self.there.join(Join(OTHER, "photos", np.asarray(others), **terms))
        self.numbers = np.sort(self.here.engine.rows_of(JOB).numbers.astype(np.int64))
        self.there.tell(Join(GUEST, "photos", self.numbers % row_limit, **terms, remote=True))
        self.coupled = False

    def begin(self, job: int, **more: Any) -> None:
        (self.here if job == JOB else self.there).begin(job, **more)
        self.coupled = self.coupled and job != JOB

    def couple(self) -> None:
        """Have the rest of the pass drawn there."""
        self.here.tell(Couple(JOB))
        left = self.here.engine.couplings.awaited(JOB)
        self.there.to_send.clear()
        self.there.tell(Begin(GUEST, done=np.flatnonzero(~np.isin(self.numbers, left))))
        for count in self.here.engine.couplings.wants(JOB):
            self.there.tell(Want(GUEST, count))
        self.coupled = True
        self.carry()

    def uncouple(self) -> None:
        """Lose what is on its way, and the one who draws."""
        self.there.to_send.clear()
        self.here.tell(Uncouple(JOB))
        self.coupled = False

    def carry(self) -> None:
        """Send what was drawn."""
        for drew in self.there.to_send:
            assert drew.job == GUEST
            numbers = drew.numbers
            if self.cheats:  # what is sent is sent in order
                numbers = np.sort(numbers)
            self.here.tell(Drew(JOB, numbers))
        self.there.to_send.clear()

    def want(self, job: int, now: float = 0.0) -> None:
        node = self.here if job == JOB else self.there
        node.want(job, self.batch, now)
        if job == JOB and self.coupled:
            self.there.tell(Want(GUEST, self.batch, now))
        if self.coupled:
            self.carry()
        node.settle()

    def read_all(self, *jobs: int) -> None:
        step = 0
        while any(self.left(job) for job in jobs):
            step += 1
            for job in jobs:
                if self.left(job):
                    self.want(job, now=0.01 * step)

    def left(self, job: int) -> int:
        return len((self.here if job == JOB else self.there).left[job])

    def rows_read(self, job: int) -> list[int]:
        node = self.here if job == JOB else self.there
        return [int(node.rows[job][position]) for position in node.got[job]]


def test_jobs_in_step_on_two_nodes_read_the_same_rows() -> None:
    on = TwoNodes(range(300), range(300), row_limit=300, batch=4)
    on.begin(JOB)
    on.couple()
    on.begin(OTHER)
    on.read_all(JOB, OTHER)
    mine, others = on.rows_read(JOB), on.rows_read(OTHER)
    assert sorted(mine) == sorted(others) == list(range(300))
    # What was drawn before the other came was drawn for one alone.
    ahead = next(k for k in range(300) if set(mine[:k]) != set(others[:k]))
    behind = [abs(others.index(row) - place) for place, row in enumerate(mine)]
    assert ahead < 60
    assert np.median(behind) < 60


def test_subsets_share_what_they_have_in_common() -> None:
    on = TwoNodes(range(200), range(100, 300), row_limit=300, batch=4, seed=3)
    on.begin(JOB)
    on.begin(OTHER)
    on.couple()
    on.read_all(JOB, OTHER)
    mine, others = on.rows_read(JOB), on.rows_read(OTHER)
    assert sorted(mine) == list(range(200))
    assert sorted(others) == list(range(100, 300))
    together = sum(a == b for a, b in zip(mine, others, strict=True))
    assert together > 50  # of 100; drawn apart it would be one


def test_what_was_on_its_way_when_who_draws_is_lost_is_drawn_here() -> None:
    on = TwoNodes(range(100), range(100), row_limit=100, batch=4, limits=SHORT)
    on.begin(JOB)
    on.couple()
    for _ in range(5):
        on.want(JOB)
    on.there.tell(Want(GUEST, 4))  # draws more, which never comes
    on.uncouple()
    on.read_all(JOB)
    assert sorted(on.rows_read(JOB)) == list(range(100))


def test_rows_that_come_again_and_a_pass_that_is_resumed_are_drawn_there() -> None:
    rows = [5, 1, 5, 2, 5, 1, 9, 0]
    on = TwoNodes(rows, range(10), row_limit=10)
    on.begin(JOB, done=np.array([0, 6]))
    on.couple()
    on.read_all(JOB)
    assert sorted(on.here.got[JOB]) == list(range(8))
    on.begin(JOB, epoch=1)
    on.couple()
    on.read_all(JOB)
    assert sorted(on.rows_read(JOB)) == sorted(rows)


def test_a_job_of_another_node_costs_no_memory_and_no_preparation() -> None:
    there = Node(0)
    terms = {"row_limit": 300, "batch_size": 200, "order": "joint"}
    # Two of its batches alone would be all the memory.
    there.tell(Join(GUEST, "photos", np.arange(300), **terms, remote=True))
    told = there.tell(Begin(GUEST))
    told += there.tell(Want(GUEST, 200))
    assert not [one for one in told if isinstance(one, Prepare)]
    assert sum(drew.numbers.size for drew in there.to_send) == 300
    there.join(Join(OTHER, "photos", np.arange(300), 300, 4, order="joint"))
    there.begin(OTHER)
    for _ in range(75):
        there.want(OTHER, 4)
        there.settle()
    assert OTHER not in there.refused
    assert there.engine.pinned_bytes == 0
    there.tell(Leave(GUEST))
    there.to_send.clear()
    there.begin(OTHER, epoch=1)
    there.want(OTHER, 4)
    there.settle()
    assert not there.to_send


@pytest.mark.parametrize("numbers", [[3, 3], [10], [-1], [1 << 40]], ids=str)
def test_what_cannot_have_been_drawn_is_refused_and_changes_nothing(numbers: list[int]) -> None:
    on = TwoNodes(range(10), range(10), row_limit=10)
    on.begin(JOB)
    on.here.tell(Couple(JOB))
    with pytest.raises(BadArgument, match="does not wait for"):
        on.here.engine.take(Drew(JOB, np.array(numbers)))
    on.here.engine.take(Drew(JOB, np.array([3, 4])))
    with pytest.raises(BadArgument, match="does not wait for"):
        on.here.engine.take(Drew(JOB, np.array([4])))  # it has come
    on.uncouple()
    on.read_all(JOB)
    assert sorted(on.rows_read(JOB)) == list(range(10))


def test_it_is_told_when_a_job_wants_what_has_not_come() -> None:
    on = TwoNodes(range(10), range(10), row_limit=10, batch=2)
    on.begin(JOB)
    on.here.tell(Couple(JOB))
    starves = on.here.engine.couplings.starves
    assert not starves(JOB)
    on.here.want(JOB, 2)
    assert starves(JOB)
    kept = on.here.engine.statistics().memory.used_bytes
    on.here.tell(Drew(JOB, np.array([3, 4])))
    assert not starves(JOB)
    on.here.settle()
    on.want(JOB)
    # It lacks no room, so nothing of what is in memory is given up for it, nor is it refused.
    assert on.here.engine.statistics().memory.used_bytes > kept
    assert not on.here.refused


@pytest.mark.parametrize("seed", range(8))
def test_every_row_comes_once_a_pass_whatever_happens(seed: int) -> None:
    luck = random.Random(seed)
    rows = luck.choices(range(30), k=40) if seed % 2 else luck.sample(range(60), 40)
    limits = SHORT if seed % 4 < 2 else None
    on = TwoNodes(rows, range(60), row_limit=60, batch=3, limits=limits, seed=seed)
    on.begin(OTHER)
    for epoch in range(4):
        done = np.array(luck.sample(range(40), 5)) if epoch % 2 else np.empty(0, np.int64)
        on.begin(JOB, epoch=epoch, done=done)
        while on.left(JOB):
            match luck.randrange(5):
                case 0 if on.coupled:
                    on.uncouple()
                case 1 if not on.coupled:
                    on.couple()
                case 2 if on.left(OTHER):
                    on.want(OTHER)
                case 3 if on.coupled:
                    on.there.tell(Want(GUEST, 1))  # it is thought to be farther than it is
                    on.carry()
                case _:
                    on.want(JOB)
        assert sorted(on.here.got[JOB]) == list(range(40))
        if not on.left(OTHER):
            on.begin(OTHER, epoch=epoch)


def in_step_p_values(cheats: bool) -> dict[tuple[str, int], float]:
    rows = {"here": range(4), "there": range(1, 5)}

    def play(seed: int) -> list[dict[str, int]]:
        on = TwoNodes(*rows.values(), row_limit=5, limits=SHORT, seed=seed, cheats=cheats)
        on.begin(OTHER)
        on.begin(JOB)
        on.couple()  # what was planned for the other is taken back: both draw from the first row
        on.read_all(JOB, OTHER)
        both = zip(on.rows_read(JOB), on.rows_read(OTHER), strict=True)
        return [{"here": mine, "there": others} for mine, others in both]

    return next_draw_p_values(play, range(trials(4000, 400)), rows)


def test_a_draw_is_uniform_given_all_that_both_have_drawn() -> None:
    """As on one node; error probability: see uniformity.py, here of fewer than 20 values."""
    found = in_step_p_values(cheats=False)
    assert len(found) >= 6
    assert min(found.values()) > ALPHA


def test_an_order_that_is_not_uniform_is_found() -> None:
    assert min(in_step_p_values(cheats=True).values()) < ALPHA


def test_an_order_is_uniform_if_who_draws_changes_in_the_middle_of_a_pass() -> None:
    """Each draw given the job's own past; error probability as above."""
    rows = {"here": range(4)}

    def play(seed: int) -> list[dict[str, int]]:
        on = TwoNodes(rows["here"], range(5), row_limit=5, limits=SHORT, seed=seed)
        on.begin(OTHER)
        on.want(OTHER)
        on.begin(JOB)
        on.couple()
        on.want(JOB)
        on.want(OTHER)
        on.uncouple()  # at a moment that does not depend on rows
        on.want(JOB)
        on.couple()
        on.read_all(JOB)
        return [{"here": row} for row in on.rows_read(JOB)]

    found = next_draw_p_values(play, range(trials(4000, 400)), rows)
    assert min(found.values()) > ALPHA
