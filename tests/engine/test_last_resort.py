"""When nothing is in use and a batch finds no room: all is given up for it, or it is refused."""

import numpy as np
import pytest

from joader.messages import (
    Join,
)
from tests.engine.world import World


def run(on: World, jobs: dict[int, int]) -> None:
    """Let all jobs read to the end of their pass, each in batches of its size."""
    while todo := [job for job in jobs if len(on.got[job]) < on.rows[job].size]:
        for job in todo:
            on.want(job, min(jobs[job], on.rows[job].size - len(on.got[job])))
        on.settle()


def join(job: int, rows: int = 200, batch: int = 8, **more: object) -> Join:
    more.setdefault("recipe", "photos")
    more.setdefault("row_limit", rows)
    return Join(job=job, rows=np.arange(rows), batch_size=batch, **more)  # type: ignore[arg-type]


def test_a_batch_that_turns_out_too_large_is_refused_and_not_waited_for() -> None:
    on = World(12 * 128, lambda row: 100 if row < 10 else 400)
    on.join(join(1, rows=60, batch=4, order="given"))
    on.begin(1)
    for _ in range(15):
        if 1 not in on.refused:
            on.want(1, 4)
            on.settle()
    assert (
        "does not fit, and the budget is 1.5 KiB; restart the daemon with `joader up --memory 4KiB`"
        in on.refused[1]
    )


def test_samples_of_growing_size_find_their_place() -> None:
    on = World(200 * 128, lambda row: 64 + 3 * row)
    on.join(join(1, rows=60, batch=4))
    on.begin(1)
    run(on, {1: 4})
    assert sorted(on.got[1]) == list(range(60))


def test_what_others_have_asked_for_is_given_up_for_who_has_nothing() -> None:
    """Together they want more than there is; one after the other they read all the same."""
    on = World(16 * 128, lambda row: 100 if row < 4 else 380)
    for job in (1, 2):
        on.join(join(job, rows=40, batch=4, order="given", recipe=f"photos {job}"))
        on.begin(job)
    for _ in range(10):
        for job in [job for job in (1, 2) if job not in on.refused]:
            on.want(job, 4)
        on.settle()
    assert on.refused == {}
    assert {job: on.got[job] for job in (1, 2)} == {job: list(range(40)) for job in (1, 2)}


@pytest.mark.parametrize(("slots", "large"), [(11, 300), (14, 400), (21, 500), (24, 500)])
def test_what_a_refused_job_had_its_workers_wait_for_is_not_what_has_its_number_next(
    slots: int, large: int
) -> None:
    """Its own parts are given up with their sources; then their numbers are another job's."""
    on = World(slots * 128, lambda row: 100 if row < 8 else large)
    on.join(join(1, rows=40, batch=4, order="given", own=True))
    on.begin(1)
    on.join(join(2, rows=40, batch=1, order="given", recipe="sounds"))
    on.begin(2)
    for _ in range(40):
        for job in on.jobs:
            if on.left[job]:
                on.want(job, min(on.jobs[job].batch_size, len(on.left[job])))
        on.settle()
    assert list(on.refused) == [1]
    assert on.got[2] == list(range(40))
