"""What no job can mean is refused with the value and what is allowed."""

from typing import Any

import numpy as np
import pytest

from joader.cache import Cache
from joader.engine.admission import LARGE_BATCH, MOST_RANKS, MOST_TOLD, check_join, check_want
from joader.engine.limits import Limits
from joader.engine.plan import Told
from joader.engine.reader import Reader, Terms
from joader.engine.recipes import MOST_ROWS, Recipe
from joader.engine.samplers import Samplers
from joader.errors import BadArgument
from joader.messages import Join, Want
from joader.sampling import SequentialSampler
from joader.sampling.job_rows import JobRows


def join(**changed: Any) -> None:
    given: dict[str, Any] = {"row_limit": 4, "batch_size": 2, **changed}
    rows = np.arange(given.pop("count", 4))
    check_join(Join(1, "code", rows, **given), Limits(), Cache(1 << 20))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"order": "odd"}, "use one of shared, joint, seeded, given, told"),
        ({"seed": -1}, "use an integer >= 0"),
        ({"row_limit": MOST_ROWS + 1}, f"use 0 to {MOST_ROWS}"),
        ({"world_size": 0}, "world_size=0"),
        ({"world_size": MOST_RANKS + 1}, f"use 1 to {MOST_RANKS}"),
        ({"batch_size": LARGE_BATCH + 1, "order": "told"}, "use smaller batches"),
    ],
)
def test_a_job_that_cannot_be_meant_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        join(**changed)


def test_a_batch_larger_than_the_dataset_is_no_larger_than_that() -> None:
    join()
    join(batch_size=LARGE_BATCH + 1)


def reader() -> Reader:
    rows = JobRows(np.arange(8), 8)
    recipe = Recipe("code", 8, 0, Samplers(lambda order, seed: SequentialSampler(), 0))
    made = Reader(1, recipe, rows, 4, Limits(), Told(1, rows), Terms())
    made.in_pass = True
    return made


def want(count: int, times: list[int] | None = None) -> Want:
    before = None if times is None else np.array(times)
    return Want(1, count, positions=np.arange(count), times=before)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (want(0), "may want 1 to"),
        (want(5), "1 to its batch size, 4"),
        (Want(1, 2), "did not say which 2"),
        (want(2, [0]), "how often each"),
        (want(2, [0, -1]), "how often each"),
    ],
)
def test_a_want_that_cannot_be_answered_is_refused(event: Want, told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        check_want(event, reader())


def test_a_job_wants_nothing_before_it_began_nor_very_much_ahead() -> None:
    one = reader()
    check_want(want(4, [0, 0, 0, 1]), one)
    one.window.want(MOST_TOLD)
    with pytest.raises(BadArgument, match="samples ahead"):
        check_want(want(4), one)
    one.in_pass = False
    with pytest.raises(BadArgument, match="before it began"):
        check_want(want(4), one)
