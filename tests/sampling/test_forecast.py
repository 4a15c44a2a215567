"""What a pass is said to read next is what it then reads."""

from collections.abc import Callable

import numpy as np
import pytest

from joader.sampling import StreamSampler
from joader.sampling.sampler import Speed


def test_ahead_is_what_the_job_then_draws() -> None:
    rng = np.random.default_rng(2)
    sampler = StreamSampler(2, reach=1000)
    rows = np.arange(300)
    datasets = {"a": rows, "b": rows[rows % 5 != 0], "c": rows[rows % 5 != 1]}
    told = 0
    for _ in range(400):
        for job, mine in datasets.items():
            if job not in sampler._jobs or not sampler.remaining(job):
                sampler.add(job, mine)
            count = min(int(rng.integers(0, 20)), sampler.remaining(job))
            ahead = sampler.ahead(job, count)
            told += ahead.size
            assert sampler.draw({job: count})[job][: ahead.size].tolist() == ahead.tolist()
    assert told > 9_000


@pytest.mark.parametrize("pick", [lambda rows: rows, lambda rows: rows[rows % 5 != 0]])
def test_next_use_is_the_distance_to_the_draw(pick: Callable[[np.ndarray], np.ndarray]) -> None:
    sampler = StreamSampler(0)
    rows = pick(np.arange(1000))
    sampler.add("a", rows)
    sampler.draw({"a": 100})
    ahead = sampler.ahead("a", 500)
    distance = sampler.next_use(ahead)
    assert np.abs(distance - np.arange(500)).max() < 30
    assert (np.diff(distance) > 0).all()
    read = np.setdiff1d(rows, sampler.unread("a"))
    assert (sampler.next_use(read) > sampler.remaining("a")).all()
    assert np.isinf(sampler.next_use([5_000, 2**32 - 1])).all()


def test_one_row_alone_is_told_the_same_as_among_many() -> None:
    rng = np.random.default_rng(4)
    sampler = StreamSampler(4, reach=60)
    rows = np.arange(200)
    datasets = {"a": rows, "b": rows[rows % 5 != 0]}
    speeds = {"a": Speed(2.0, waits=3), "b": Speed(5.0, once=True)}
    asked = np.arange(0, 220, 7)
    for _ in range(60):
        for job, mine in datasets.items():
            if job not in sampler._jobs or not sampler.remaining(job):
                sampler.add(job, mine)
            sampler.draw({job: min(int(rng.integers(0, 30)), sampler.remaining(job))})
        together = sampler.seconds_until(asked, speeds)
        alone = [sampler.seconds_until_one(int(row), speeds) for row in asked]
        assert together.tolist() == pytest.approx(alone)
