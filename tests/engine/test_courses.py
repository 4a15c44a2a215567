"""Steps as they travel between nodes: small, and the same rows on the other side."""

import numpy as np
import pytest

from joader.engine.courses import Courses
from joader.engine.plan import Followed
from joader.engine.samplers import Samplers, sampler_of
from joader.errors import BadArgument
from joader.messages import Begin
from joader.messages.ranks import Piece, Steps
from joader.sampling import StreamSampler
from joader.sampling.course import course
from joader.sampling.job_rows import JobRows
from joader.wire import frame


def followed(rows: JobRows, orders: Samplers, whom: str = "me") -> Followed:
    plan = Followed(1, rows, orders, whom, None)
    plan.begin(Begin(1), life=1)
    return plan


def drawn(plan: Followed, count: int) -> np.ndarray:  # type: ignore[type-arg]
    return plan.drew(plan.sampler.draw({plan.name: count})[plan.name]).places


def orders() -> Samplers:
    return Samplers(sampler_of, 5, stream=12345678901)


def test_a_course_is_the_order_of_its_generation() -> None:
    rows = np.random.default_rng(1).permutation(500)[:300]
    sampler = StreamSampler(7, 7)
    sampler.add("job", rows)
    first = sampler.draw({"job": 40})["job"]
    found = sampler.course("job")
    assert found is not None
    key, order = found
    assert np.array_equal(course(key, rows), order)
    assert np.array_equal(order[:40], first)
    assert sampler.course("nobody") is None


def test_a_step_of_1024_ranks_is_less_than_a_kilobyte_and_comes_out_the_same() -> None:
    plan = followed(JobRows(np.arange(100_000), 100_000), orders())
    here, there = (Courses(JobRows(np.arange(100_000), 100_000)) for _ in range(2))
    left = 100_000
    while left:
        positions = drawn(plan, min(left, 32 * 1024))
        left -= positions.size
        piece = here.pack(positions, 0, 3, plan)
        assert len(frame(Steps(1, 1, 0, (piece,), 2**62, 2**55))) < 150
        assert np.array_equal(there.unpack(piece), positions)


def test_a_pass_that_began_late_packs_its_tail_too() -> None:
    together = orders()
    first = followed(JobRows(np.arange(1000), 1000), together, "first")
    drawn(first, 700)
    late = followed(JobRows(np.arange(1000), 1000), together, "late")
    courses = Courses(JobRows(np.arange(1000), 1000))
    seen: list[int] = []
    for _ in range(10):
        positions = drawn(late, 100)
        piece = courses.pack(positions, 0, 0, late)
        assert len(piece.spans) in (2, 4)
        assert np.array_equal(courses.unpack(piece), positions)
        seen += positions.tolist()
    assert sorted(seen) == list(range(1000))


def test_rows_go_where_they_are_not_of_one_stretch() -> None:
    plan = followed(JobRows(np.arange(1000), 1000), orders())
    drawn(plan, 10)
    courses = Courses(JobRows(np.arange(1000), 1000))
    positions = np.random.default_rng(0).permutation(1000)[:64]
    piece = courses.pack(positions, 2, 0, plan)
    assert piece.course is None
    assert np.array_equal(courses.unpack(piece), positions)


def test_a_generation_with_rows_of_others_is_not_cut() -> None:
    together = orders()
    plan = followed(JobRows(np.arange(1000), 1200), together, "one")
    drawn(plan, 10)
    other = followed(JobRows(np.arange(100, 1100), 1200), together, "other")
    drawn(other, 10)
    positions = drawn(plan, 50)
    courses = Courses(JobRows(np.arange(1000), 1200))
    piece = courses.pack(positions, 0, 0, plan)
    assert piece.course is None
    assert np.array_equal(courses.unpack(piece), positions)


def test_what_reaches_beyond_an_order_is_refused() -> None:
    courses = Courses(JobRows(np.arange(10), 10))
    with pytest.raises(BadArgument, match="beyond the 10 places"):
        courses.unpack(Piece((5, 6), (1, 2, 3, 4)))
    with pytest.raises(BadArgument, match="a step of 2 positions repeats 3"):
        courses.unpack(Piece(rows=np.arange(2), repeated=3))
