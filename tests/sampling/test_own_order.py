"""Orders that do not depend on other jobs."""

import numpy as np
import pytest

from joader.errors import JobExists, NotEnoughRows
from joader.sampling import IndependentSampler, SeededSampler, SequentialSampler

ROWS = np.array([7, 3, 9, 1, 5, 2, 8, 4])


def drawn(sampler, rows=ROWS, epoch=0, job="a"):
    sampler.add(job, rows, epoch)
    return sampler.draw({job: len(rows)})[job].tolist()


def test_sequential_is_the_order_in_which_rows_were_added() -> None:
    assert drawn(SequentialSampler()) == ROWS.tolist()


def test_seeded_is_a_function_of_the_set_the_seed_and_the_epoch() -> None:
    order = drawn(SeededSampler(1))
    assert order == drawn(SeededSampler(1), np.sort(ROWS)) != sorted(order)
    others = [drawn(SeededSampler(1), epoch=1), drawn(SeededSampler(2))]
    assert order not in others
    assert all(sorted(other) == sorted(order) for other in others)


def test_independent_jobs_of_one_sampler_have_orders_of_their_own() -> None:
    sampler = IndependentSampler(1)
    rows = np.arange(100)
    one, other = drawn(sampler, rows, job="a"), drawn(sampler, rows, job="b")
    assert one != other
    assert sorted(one) == sorted(other) == rows.tolist()


def test_a_pass_is_handed_out_from_the_front_and_what_is_left_is_known() -> None:
    sampler = SequentialSampler()
    sampler.add("a", ROWS)
    assert sampler.draw({"a": 3})["a"].tolist() == [7, 3, 9]
    assert sampler.remaining("a") == 5
    assert sampler.unread("a").tolist() == [1, 2, 4, 5, 8]
    with pytest.raises(JobExists):
        sampler.add("a", ROWS)
    with pytest.raises(NotEnoughRows):
        sampler.draw({"a": 6})
    assert sampler.draw({"a": 5})["a"].tolist() == [1, 5, 2, 8, 4]
    sampler.add("a", ROWS)
    assert sampler.remaining("a") == 8
