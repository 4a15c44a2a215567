"""Who is in a group with whom, and which generation a pass begins in."""

import numpy as np

from joader.sampling import StreamSampler
from tests.sampling.passes import LIMIT


def test_sets_of_other_sizes_are_drawn_jointly_and_come_back_to_streams() -> None:
    sampler = StreamSampler(0)
    sampler.add("all", range(400))
    first = sampler.draw({"all": 40})["all"]
    sampler.add("half", range(200))
    drawn = [sampler.draw({"all": 10, "half": 10}) for _ in range(10)]
    together = sum(np.isin(part["half"], part["all"]).sum() for part in drawn)
    assert together > 20  # a third of the draws at least; alone it would be 100 / 36
    assert np.isnan(sampler.next_use([0])).all()
    assert sampler.ahead("all", 5).size == 0
    sampler.remove("half")
    sampler.add("other", range(400))
    rest = sampler.draw({"all": 260, "other": 260})
    read = np.concatenate([first, *(part["all"] for part in drawn), rest["all"]])
    assert np.unique(read).size == read.size == 400
    assert np.isfinite(sampler.next_use([0])).all()


def test_disjoint_sets_are_in_different_groups() -> None:
    sampler = StreamSampler(0)
    for job, rows in enumerate([range(100), range(100, 200), range(50, 140), range(900, 910)]):
        sampler.add(job, rows)
        sampler.draw({job: 1})
    assert len(sampler._groups) == 3


def test_a_rest_leaves_the_pace_to_others() -> None:
    sampler = StreamSampler(0, reach=20)
    sampler.add("whole", range(1000))
    sampler.draw({"whole": 10})
    sampler.add("rest", range(0, 1000, 4), rest=True)
    whole = sampler.draw({"whole": 400, "rest": 100})["whole"]
    more = sampler.draw({"whole": 400, "rest": 100})["whole"]
    order = sampler._groups[0].newest.order  # type: ignore[union-attr]
    assert np.concatenate([whole, more]).tolist() == order[10:810].tolist()


def test_rows_that_come_later_are_inserted_without_moving_the_others() -> None:
    sampler = StreamSampler(5)
    sampler.add("a", range(500))
    first = sampler.draw({"a": 100})["a"]
    order = sampler._groups[0].newest.order.copy()  # type: ignore[union-attr]
    sampler.add("b", range(100, 600))
    sampler.draw({"b": 1})
    after = sampler._groups[0].newest.order  # type: ignore[union-attr]
    assert after[after < 500].tolist() == order.tolist()
    assert sampler.draw({"a": 400})["a"].tolist() == order[first.size :].tolist()


def test_what_is_remembered_of_jobs_that_left_does_not_grow() -> None:
    sampler = StreamSampler(0)
    sampler.add("stays", range(100))
    for number in range(200):
        if not sampler.remaining("stays"):
            sampler.add("stays", range(100))
        sampler.add(number, range(number % 9, 100 - number // 20))
        sampler.draw({"stays": 1, number: 5})
        sampler.remove(number)
    assert len(sampler._groups) == 1
    assert len(sampler._groups[0].sets()) <= 20
    assert len(sampler._groups[0]._gone) <= 100  # of the running generation


def test_a_short_rest_apart_from_others_is_not_taken_for_all_that_was_read() -> None:
    """It forms a group of its own; the next pass is back in the generation that was followed."""
    runs, early = 100, 0
    for seed in range(runs):
        sampler = StreamSampler(seed, reach=5)
        sampler.add("other", range(200))
        sampler.add("old", range(200))
        read = sampler.draw({"other": 100, "old": 100})["old"]
        sampler.remove("old")
        sampler.add("new", [0, 1], rest=True, followed=True)
        sampler.draw({"new": 2})
        assert len(sampler._groups) == 2
        sampler.add("new", range(200))
        early += int(np.isin(sampler.draw({"new": 50})["new"], read).sum())
    deviation = (runs * 50 * 0.25 * 150 / 199) ** 0.5
    assert abs(early - runs * 25) < LIMIT * deviation
