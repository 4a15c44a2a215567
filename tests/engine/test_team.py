"""Jobs that are told what to read, and ranks that read one plan together."""

import numpy as np
import pytest
from msgspec.structs import replace

from joader.errors import BadArgument
from joader.messages import (
    Announce,
    Begin,
    Deliver,
    Event,
    Instruction,
    Join,
    Know,
    Release,
    Want,
)
from tests.engine.world import World

SIZE = 100


class Ranks(World):
    """A world that takes deliveries as they come, and releases them when asked."""

    def __init__(self, slots: int = 400) -> None:
        super().__init__(slots * 128, lambda row: SIZE)
        self.came: dict[int, list[Deliver]] = {}
        self.plan: dict[int, list[list[int]]] = {}  # the steps that ranks know
        self.deaf: set[int] = set()  # ranks that say nothing to what they are told
        self._to_say: list[Know] = []

    def tell(self, event: Event) -> list[Instruction]:
        """Tell the engine, and let ranks answer to what is announced."""
        if isinstance(event, Begin):
            self.plan[event.job], self.came[event.job] = [], []
        said = super().tell(event)
        while self._to_say:
            said += super().tell(self._to_say.pop(0))
        return said

    def carry_out(self, instruction: Instruction) -> None:
        if isinstance(instruction, Announce):
            plan = self.plan[instruction.job]
            plan += [positions.tolist() for positions, *_ in instruction.steps]
            if instruction.job not in self.deaf:
                self._to_say.append(Know(instruction.job, len(plan)))
        super().carry_out(instruction)

    def receive(self, delivery: Deliver) -> None:
        for sample, offset in zip(
            delivery.samples.tolist(), delivery.offsets.tolist(), strict=True
        ):
            assert self.slots[sample][0] == offset
        self.came.setdefault(delivery.job, []).append(delivery)
        self.held.setdefault(delivery.job, []).append(delivery.samples)

    def rows_of(self, delivery: Deliver) -> list[int]:
        return [self.bytes[offset][1] for offset in delivery.offsets.tolist()]

    def read(self, job: int, count: int, positions: np.ndarray | None = None) -> list[int]:  # type: ignore[type-arg]
        """Want a batch, let all work, and return its rows."""
        before = len(self.came.get(job, []))
        self.tell(Want(job, count, 0.0, positions))
        self.work()
        new = self.came.get(job, [])[before:]
        rows = [row for delivery in new for row in self.rows_of(delivery)]
        while self.held.get(job):
            self.tell(Release(job, self.held[job].pop()))
        return rows


def told(job: int, rows: int = 50, **more: object) -> Join:
    return Join(job, "photos", np.arange(rows), rows, 8, "told", **more)  # type: ignore[arg-type]


def rank(job: int, number: int, of: int, rows: int = 50, **more: object) -> Join:
    more.setdefault("order", "shared")
    return Join(
        job, "photos", np.arange(rows), rows, 4, team="t", rank=number, world_size=of, **more
    )  # type: ignore[arg-type]


def test_a_job_reads_what_it_is_told_again_and_again() -> None:
    on = Ranks()
    on.tell(told(1))
    on.tell(Begin(1))
    for positions in ([3, 3, 7], [0], [3, 49, 3, 3, 2, 1, 0, 7]):
        assert on.read(1, len(positions), np.array(positions)) == positions
    assert on.engine.statistics().jobs[1].delivered == 12
    assert on.prepared == 6
    on.tell(Begin(1, 1))
    assert on.read(1, 1, np.array([3])) == [3]


def test_a_fresh_job_that_is_told_a_row_twice_gets_two_instances() -> None:
    on = Ranks()
    on.tell(told(1, fresh=True))
    on.tell(Begin(1))
    assert on.read(1, 3, np.array([5, 5, 5])) == [5, 5, 5]
    assert on.prepared == 3


def test_what_a_job_is_told_must_be_there() -> None:
    on = Ranks()
    on.tell(told(1))
    on.tell(Begin(1))
    for positions in (np.array([50]), np.array([-1]), np.array([1, 2]), None):
        with pytest.raises(BadArgument):
            on.tell(Want(1, 1, 0.0, positions))
    assert on.read(1, 1, np.array([4])) == [4]


def together(on: Ranks, jobs: list[int], steps: int) -> list[list[Deliver]]:
    """Let all ranks read so many steps, and return the deliveries by step."""
    before = len(on.came.get(jobs[0], []))
    for number in range(steps):
        for job in jobs if number % 2 else reversed(jobs):
            on.read(job, 4)
        on.settle()
    return [[on.came[job][before + step] for job in jobs] for step in range(steps)]


@pytest.mark.parametrize("order", ["shared", "seeded", "given"])
@pytest.mark.parametrize("world_size", [2, 4])
def test_ranks_read_disjoint_parts_of_equal_steps(order: str, world_size: int) -> None:
    on = Ranks()
    jobs = list(range(world_size))
    for job in jobs:
        on.tell(rank(job, job, world_size, order=order))
        on.tell(Begin(job))
    steps = -(-50 // (4 * world_size))
    seen: list[int] = []
    for number, deliveries in enumerate(together(on, jobs, steps)):
        step = on.plan[0][number]
        part = 1 if number == steps - 1 else 4  # 2 rows are left, for 2 or 4 ranks
        for job, delivery in enumerate(deliveries):
            assert on.plan[job][number] == step
            assert on.rows_of(delivery) == step[part * job : part * job + part]
        seen += step[: len(step) - deliveries[0].repeated]
        assert len(set(step)) == len(step)
    assert sorted(seen) == list(range(50))
    assert deliveries[0].repeated == world_size - 2
    if order == "given":
        assert seen == list(range(50))


def test_drop_last_leaves_the_last_step_out() -> None:
    on = Ranks()
    for job in (0, 1):
        on.tell(rank(job, job, 2, drop_last=True))
        on.tell(Begin(job))
    steps = together(on, [0, 1], 6)
    assert all(delivery.repeated == 0 for step in steps for delivery in step)
    assert len(steps) == len(on.plan[0])
    assert len({row for step in on.plan[0] for row in step}) == 48
    assert on.read(0, 4) == []


def test_ranks_go_on_after_what_all_have_read() -> None:
    on = Ranks()
    done = np.arange(10, 26)
    for job in (0, 1):
        on.tell(rank(job, job, 2))
        on.tell(Begin(job, 3, done))
    assert len(together(on, [0, 1], 5)) == 5
    seen = [row for step in on.plan[0] for row in step]
    assert sorted(set(seen)) == sorted(set(range(50)) - set(done.tolist()))


def test_a_pass_begins_when_all_ranks_have_begun_it() -> None:
    on = Ranks()
    on.tell(rank(0, 0, 2))
    on.tell(Begin(0))
    assert on.read(0, 4) == []
    missing, all_here = on.engine.waits_for_ranks(0)
    assert (missing, all_here) == ("of 2 ranks of job 't' rank 1 is not here, or gone", False)
    on.tell(rank(1, 1, 2))
    missing, all_here = on.engine.waits_for_ranks(0)
    assert (missing, all_here) == ("of 2 ranks of job 't' rank 1 is yet to begin the pass", True)
    on.tell(Begin(0, 3))  # it thought better of it
    on.tell(Begin(0))
    on.tell(Want(0, 4))
    on.tell(Begin(1))
    on.work()
    assert on.engine.waits_for_ranks(0)[0] == ""
    assert len(on.came[0]) == 1


def test_ranks_that_disagree_are_told_so() -> None:
    on = Ranks()
    on.tell(rank(0, 0, 2))
    with pytest.raises(BadArgument, match="reads other data"):
        on.tell(replace(rank(2, 1, 2), rows=np.arange(49)))
    on.tell(rank(1, 1, 2))
    with pytest.raises(BadArgument, match="has joined already"):
        on.tell(rank(2, 1, 2))
    with pytest.raises(BadArgument, match="world_size=3"):
        on.tell(rank(2, 1, 3))
    on.tell(Begin(0, 1))
    with pytest.raises(BadArgument, match="load the same state on all ranks"):
        on.tell(Begin(1, 2))
    on.tell(Begin(1, 1))
    assert len(on.read(0, 4)) == 4


def test_two_teams_in_step_prepare_each_row_once_and_leave_nothing_in_use() -> None:
    on = Ranks()
    for team in ("a", "b"):
        for number in (0, 1):
            job = 2 * (team == "b") + number
            join = rank(job, number, 2, rows=48)
            on.tell(Join(job, "photos", join.rows, 48, 4, team=team, rank=number, world_size=2))
    for job in range(4):
        on.tell(Begin(job))
    for _ in range(6):
        for job in range(4):
            on.tell(Want(job, 4))
        on.settle()
    assert on.prepared == 48
    for job in range(4):
        assert len(on.came[job]) == 6
        on.held.pop(job)
        on.leave(job)
    assert on.engine.pinned_bytes == 0


def test_when_a_rank_leaves_the_others_get_what_it_had_and_are_told_which() -> None:
    on = Ranks()
    for job in (0, 1, 2):
        on.tell(rank(job, job, 3))
        on.tell(Begin(job))
    together(on, [0, 1, 2], 1)
    on.read(1, 4)
    on.held.pop(1, None)
    on.leave(1)
    assert len(on.read(0, 4)) == 4
    assert on.refused == {}
    for job in (0, 2, 2):
        on.tell(Want(job, 4))
        on.work()
    assert set(on.refused) == {0, 2}
    assert all("rank 1 of job 't' has left in the middle" in why for why in on.refused.values())
    assert "start the job again from its last state_dict()" in on.refused[0]


def test_a_rank_that_leaves_at_its_end_disturbs_nobody() -> None:
    on = Ranks()
    for job in (0, 1):
        on.tell(rank(job, job, 2, rows=24))
        on.tell(Begin(job))
    together(on, [0, 1], 2)
    assert len(on.read(0, 4)) == 4
    on.held.pop(0)
    on.leave(0)
    assert len(on.read(1, 4)) == 4
    assert on.refused == {}


def test_no_rank_gets_a_step_that_another_has_not_heard_of() -> None:
    on = Ranks()
    on.deaf.add(1)
    for job in (0, 1):
        on.tell(rank(job, job, 2))
        on.tell(Begin(job))
    assert on.read(0, 4) == []
    missing, all_here = on.engine.waits_for_ranks(0)
    assert (missing, all_here) == ("of 2 ranks of job 't' rank 1 is behind", True)
    on.tell(Know(1, 1))
    on.work()
    assert len(on.came[0]) == 1
    on.tell(Know(1, 9999))  # more than it was told
    assert on.read(0, 4) == []
    on.tell(told(7))
    with pytest.raises(BadArgument, match="is not a rank"):
        on.tell(Know(7, 1))


def test_what_is_fresh_to_a_team_is_fresh_to_each_of_its_ranks() -> None:
    on = Ranks()
    for number in range(2):
        on.tell(rank(number + 1, number, 2, fresh=True))
    for epoch in range(2):
        for job in (1, 2):
            on.tell(Begin(job, epoch))
        for _ in range(7):
            for job in (1, 2):
                on.tell(Want(job, 4))
            on.work()
            for job in (1, 2):
                while on.held.get(job):
                    on.tell(Release(job, on.held[job].pop()))
    assert on.prepared == 2 * 50
