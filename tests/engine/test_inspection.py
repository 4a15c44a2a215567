"""Jobs of one recipe that first meet: what is compared, and what a job that leaves gives up."""

import numpy as np
from msgspec.structs import replace

from joader.messages import Compare, Compared, Inspect, Instruction, Join, Leave
from joader.schedule.work.orders import Row
from tests.engine.world import World

ROWS = 6


def join(job: int) -> Join:
    return Join(job=job, recipe="photos", row_limit=ROWS, rows=np.arange(ROWS), batch_size=2)


def with_rows_ready() -> World:
    """Return a world in which a job has read its pass, and stays."""
    on = World(100 * 128, lambda row: 100)
    on.join(join(1))
    on.begin(1)
    while on.left[1]:
        on.want(1, 2)
        on.settle()
    return on


def compares(said: list[Instruction]) -> list[Compare]:
    return [one for one in said if isinstance(one, Compare)]


def leases(on: World) -> int:
    table = on.engine._stock.table
    return sum(table.pins.cells[sample] for sample in table.everyone().tolist())


def test_a_few_rows_that_are_here_are_compared_and_kept_until_then() -> None:
    on = with_rows_ready()
    before = leases(on)
    said = compares(on.engine.handle(join(2), Inspect(2)))
    assert len(said) == 3
    assert {one.job for one in said} == {2}
    assert leases(on) == before + 3
    on.engine.handle(*[Compared(2, one.sample) for one in said])
    assert leases(on) == before


def test_random_code_is_compared_with_the_random_numbers_of_the_sample() -> None:
    on = World(100 * 128, lambda row: 100)
    fresh = [replace(join(job), fresh=True) for job in (1, 2)]
    on.join(fresh[0])
    on.begin(1)
    starts = {}
    while on.left[1]:
        on.want(1, 2)
        starts |= {
            sample: (order.key, order.position, order.times)
            for sample, order in on.to_do.items()
            if isinstance(order, Row)
        }
        on.settle()
    said = compares(on.engine.handle(fresh[1], Inspect(2)))
    assert len(said) == 3
    assert all(one.fresh and one.key for one in said)
    assert {
        one.sample: (one.key, one.position, one.times) for one in said
    }.items() <= starts.items()


def test_a_job_that_leaves_before_its_workers_were_told_has_nothing_compared() -> None:
    on = with_rows_ready()
    before = leases(on)
    said = on.engine.handle(join(2), Inspect(2), join(3), Inspect(3), Leave(2))
    assert {one.job for one in compares(said)} == {3}
    assert leases(on) == before + 3


def test_a_job_that_leaves_meanwhile_keeps_nothing_and_its_outcome_is_ignored() -> None:
    on = with_rows_ready()
    before = leases(on)
    said = compares(on.engine.handle(join(2), Inspect(2)))
    on.engine.handle(Leave(2))
    assert leases(on) == before
    on.engine.handle(*[Compared(2, one.sample) for one in said])
    assert leases(on) == before
