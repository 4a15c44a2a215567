"""Ranks whose daemon dies meet in a new one: modelled with every message that may be lost.

Ranks are what the client is: they note whole steps, know a few more, and report both to a new
engine. What an engine said and they have not read yet is lost with it.
"""

import random
from collections import deque
from functools import partial
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.messages import Announce, Begin, Deliver, Instruction, Join, Know, Release, Want
from tests.engine.world import World


class Daemon(World):
    """An engine whose words wait until ranks read them."""

    def __init__(self) -> None:
        super().__init__(400 * 128, lambda row: 100)
        self.mail: dict[int, deque[Announce | Deliver]] = {}

    def carry_out(self, instruction: Instruction) -> None:
        if isinstance(instruction, Announce | Deliver):
            self.mail[instruction.job].append(instruction)
        else:
            super().carry_out(instruction)


class Rank:
    """A rank as the client keeps it."""

    def __init__(self, number: int, case: dict[str, Any]) -> None:
        self.number, self.case = number, case
        self.daemon: Daemon | None = None
        self.done: list[int] = []  # noted positions of all ranks
        self.own: list[list[int]] = []
        self.steps: list[list[int]] = []
        self.plan: deque[tuple[Any, int, int]] = deque()
        self.asked = 0
        self.key = number + 1
        step = case["batch_size"] * case["ranks"]
        full, rest = divmod(case["rows"], step)
        self.left = full + (1 if rest and not case["drop_last"] else 0)

    def register(self, daemon: Daemon) -> bool:
        case, self.daemon, self.asked = self.case, daemon, 0
        daemon.mail[self.number] = deque()
        rows = np.arange(case["rows"])
        join = Join(
            *(self.number, "photos", rows, case["rows"], case["batch_size"], case["order"]),
            team="t",
            rank=self.number,
            world_size=case["ranks"],
            drop_last=case["drop_last"],
        )
        daemon.tell(join)
        done = np.array(sorted(set(self.done)), np.int64)
        plan = tuple(self.plan)
        daemon.tell(Begin(self.number, 3, done, self.key, len(self.steps), plan))
        return True

    def ask(self) -> bool:
        if self.daemon is None or self.asked == min(2, self.left):
            return False
        self.asked += 1
        self.daemon.tell(Want(self.number, self.case["batch_size"]))
        self.daemon.work()
        return True

    def read(self) -> bool:
        """Read one message."""
        if self.daemon is None or not self.daemon.mail[self.number]:
            return False
        message = self.daemon.mail[self.number].popleft()
        if isinstance(message, Announce):
            self.plan += message.steps
            self.key = message.key
            self.daemon.tell(Know(self.number, len(self.steps) + len(self.plan)))
        else:
            positions, *_ = self.plan.popleft()
            rows = [self.daemon.bytes[offset][1] for offset in message.offsets.tolist()]
            share = positions.size // self.case["ranks"]
            part = positions[self.number * share : (self.number + 1) * share]
            assert rows == part.tolist()
            self.own.append(rows)
            self.steps.append(positions.tolist())
            self.done += positions.tolist()
            self.left -= 1
            self.asked -= 1
            self.daemon.tell(Release(self.number, message.samples))
        self.daemon.work()
        return True


def run(seed: int, crashes: int, in_step: bool) -> bool:
    """Read a pass with crashes at random moments; return whether all came to its end."""
    dice = random.Random(seed)
    case = {
        "ranks": dice.choice([2, 3, 4]),
        "batch_size": dice.choice([1, 2, 3]),
        "rows": dice.choice([2, 7, 24, 40, 61]),
        "drop_last": dice.random() < 0.3,
        "order": dice.choice(["shared", "seeded", "given"]),
    }
    daemon = Daemon()
    ranks = [Rank(number, case) for number in range(case["ranks"])]
    moments = sorted(dice.randrange(1, 150) for _ in range(crashes))
    for moment in range(100_000):
        if all(rank.left == 0 for rank in ranks):
            break
        if moments and moment >= moments[0]:
            moments.pop(0)
            daemon = Daemon()
            for rank in ranks:
                rank.daemon = None
        # Ranks in step wait for those behind them, and for nothing else.
        least = min(len(rank.steps) for rank in ranks)
        free = [rank for rank in ranks if not in_step or len(rank.steps) == least]
        choices: list[Any] = [rank.ask for rank in free] + [rank.read for rank in free]
        absent = [rank for rank in free if rank.daemon is None and rank.left]
        choices += [partial(rank.register, daemon) for rank in absent]
        dice.shuffle(choices)
        if not any(choice() for choice in choices) and not moments:
            break  # nothing can move any more
    longest = max((rank.steps for rank in ranks), key=len)
    for rank in ranks:
        assert rank.steps == longest[: len(rank.steps)]
    seen = [row for step in longest for row in step]
    if longest and all(rank.left == 0 for rank in ranks):
        step = case["ranks"] * case["batch_size"]
        kept = case["rows"] - (case["rows"] % step if case["drop_last"] else 0)
        assert len(set(seen)) == kept
        assert len(seen) - kept == (0 if case["drop_last"] else -case["rows"] % case["ranks"])
        assert {rank.key for rank in ranks} == {1}
    return all(rank.left == 0 for rank in ranks)


@pytest.mark.parametrize("in_step", [False, True])
def test_after_one_crash_all_ranks_read_one_plan_to_its_end(in_step: bool) -> None:
    for seed in range(150):
        assert run(seed, 1, in_step), seed


def test_after_many_crashes_no_rank_reads_another_plan() -> None:
    """Ranks may then lack a step that another had before all knew it: they wait, and say so."""
    ended = [run(seed, 4, seed % 2 == 0) for seed in range(150)]
    assert sum(ended) > 120


def test_ranks_that_report_other_plans_are_refused() -> None:
    case = {"ranks": 2, "batch_size": 2, "rows": 20, "drop_last": False, "order": "given"}
    for report in ([9, 9, 9, 99], [1, 2, 3], []):
        daemon, first, second = Daemon(), Rank(0, case), Rank(1, case)
        first.plan.append((np.array([0, 1, 2, 3]), 0, 0))
        second.plan.append((np.array(report, np.int64), 0, 0))
        first.register(daemon)
        with pytest.raises(BadArgument):
            second.register(daemon)
    daemon, first, second = Daemon(), Rank(0, case), Rank(1, case)
    first.plan.append((np.array([0, 1, 2, 3]), 0, 0))
    second.done, second.steps = [4, 5, 6, 7], [[4, 5, 6, 7]]
    first.register(daemon)
    with pytest.raises(BadArgument, match="load the same state on all ranks"):
        second.register(daemon)
