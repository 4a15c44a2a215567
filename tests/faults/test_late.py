"""The engine on paper, with workers that do not answer: others do their rows, none is lost."""

from random import Random

import numpy as np
import pytest

from joader.messages import Join, Late
from joader.schedule.work.orders import Own, Row
from tests.engine.world import World

ROWS = 24
OFTEN = ["want", "want", "finish", "finish", "release", "stall", "watch"]
RARE = ["wake", "lose", "leave"]


class Stalled(World):
    """A world in which some workers do not answer: what they have stays in their hands."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots * 128, lambda row: 40 + row % 3 * 30)
        self.late: set[int] = set()

    def blocked(self, sample: int) -> bool:
        order = self.to_do[sample]
        waits = isinstance(order, Own) and order.source in self.late
        return sample in self.late or waits or super().blocked(sample)

    def drop_with_followers(self, sample: int) -> list[int]:
        gone = super().drop_with_followers(sample)
        self.late.difference_update(gone)
        return gone

    def stall(self, random: Random) -> None:
        """Let the worker stop that has some of the samples, and own parts of some of these."""
        orders = {**self.to_do, **self.sized}
        rows = [s for s, order in orders.items() if isinstance(order, Row)]
        for sample in random.sample(rows, random.randint(0, len(rows))):
            followers = [
                own
                for own, order in orders.items()
                if isinstance(order, Own) and order.source == sample
            ]
            self.late |= {sample, *random.sample(followers, random.randint(0, len(followers)))}
        self.watch()

    def watch(self) -> None:
        """Say who is late, as a daemon does now and again, and forget what waits for it."""
        for own, order in list(self.to_do.items()):
            waits = isinstance(order, Own) and order.source in self.late
            if waits and own not in self.late:
                del self.to_do[own]
                self.slots.pop(own, None)  # told anew, with the same slot
        self.tell(Late(tuple(self.late)))

    def wake(self) -> None:
        self.late.clear()


def a_job(random: Random, job: int, *, fresh: bool, own: bool) -> Join:
    rows = np.array(random.sample(range(ROWS), random.randint(4, ROWS)))
    return Join(
        job=job,
        recipe="photos",
        rows=rows,
        row_limit=ROWS,
        batch_size=3,
        order=random.choice(["shared", "given"]),
        fresh=fresh,
        own=own,
    )


def read_on(on: Stalled, job: int) -> None:
    on.want(job, min(3, len(on.left[job])))


def unfinished(on: Stalled) -> list[int]:
    return [job for job in on.jobs if on.left[job]]


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_jobs_read_to_the_end_while_a_worker_does_not_answer(seed: int, fresh: bool) -> None:
    random, on = Random(seed), Stalled(slots=400)
    for job in range(1, 4):
        on.join(a_job(random, job, fresh=fresh, own=random.random() < 0.5))
        on.begin(job)
        read_on(on, job)
    on.stall(random)
    # An own part that is in the hands of who does not answer can be done by nobody else.
    stuck = {o.job for s, o in {**on.to_do, **on.sized}.items() if s in on.late and _is_own(o)}
    for _ in range(200):
        on.settle()
        on.watch()
        on.settle()
        waiting = [job for job in unfinished(on) if job not in stuck]
        for job in waiting:
            if not on.wants[job]:
                read_on(on, job)
        if not waiting:
            break
    assert set(unfinished(on)) <= stuck
    end(on)


def _is_own(order: Row | Own) -> bool:
    return isinstance(order, Own)


@pytest.mark.parametrize("seed", range(150))
def test_whatever_happens_meanwhile_each_position_comes_once(seed: int) -> None:
    random = Random(seed)
    on = Stalled(slots=random.randint(30, 120))
    for job in range(1, 4):
        fresh, own = random.random() < 0.4, random.random() < 0.4
        on.join(a_job(random, job, fresh=fresh, own=own))
        if job in on.jobs:
            on.begin(job)
    for _ in range(random.randint(10, 60)):
        act(on, random)
    on.wake()
    for _ in range(300):
        on.settle()
        for job in unfinished(on):
            if not on.wants[job]:
                read_on(on, job)
    assert not unfinished(on)
    end(on)


def act(on: Stalled, random: Random) -> None:
    jobs, ready = list(on.jobs), [sample for sample in on.to_do if not on.blocked(sample)]
    match random.choice(OFTEN * 3 + RARE):
        case "want" if jobs:
            job = random.choice(jobs)
            if on.left[job] and len(on.wants[job]) < 2 and not on.wants[job]:
                read_on(on, job)
        case "finish" if ready:
            on.finish(random.choice(ready))
        case "release" if jobs:
            on.release(random.choice(jobs))
        case "stall":
            on.stall(random)
        case "watch":
            on.watch()
        case "wake":
            on.wake()
        case "lose" if on.to_do:
            on.lose(random.sample(sorted(on.to_do), 1))
        case "leave" if len(jobs) > 1:
            on.leave(random.choice(jobs))


def end(on: Stalled) -> None:
    """Let all workers come to their end and all jobs go: nothing is held then."""
    on.wake()
    on.settle()
    for job in list(on.jobs):
        on.leave(job)
    on.settle()
    assert not on.to_do
    assert on.engine.pinned_bytes == 0
