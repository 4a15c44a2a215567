"""Which jobs are in a group together, and that they draw the same rows then."""

import numpy as np
import pytest

from joader.errors import JoaderError
from joader.sampling import DependentSampler


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(JoaderError, match="use one of shared, paper, common"):
        DependentSampler(0, rule="best")


@pytest.mark.parametrize("rule", ["shared", "paper", "common"])
def test_equal_jobs_in_step_draw_the_same_rows(rule: str) -> None:
    sampler = DependentSampler(1, rule)
    for job in range(4):
        sampler.add(job, range(100))
    for _ in range(10):
        first, *others = sampler.draw(dict.fromkeys(range(4), 10)).values()
        assert all(other.tolist() == first.tolist() for other in others)


def test_over_a_hundred_jobs_out_of_step_each_read_every_row_once() -> None:
    sampler = DependentSampler(2)
    rng = np.random.default_rng(2)
    rows = {job: rng.permutation(40)[: 4 + job % 9] for job in range(110)}
    read: dict[int, list[int]] = {job: [] for job in rows}
    for job in rows:
        sampler.add(job, rows[job])
    while counts := {
        job: min(1 + job % 7, sampler.remaining(job)) for job in rows if sampler.remaining(job)
    }:
        for job, part in sampler.draw(counts).items():
            read[int(str(job))] += part.tolist()
    for job in rows:
        assert sorted(read[job]) == sorted(rows[job].tolist())


def test_jobs_that_a_third_one_links_share_with_it() -> None:
    sampler = DependentSampler(0)
    sampler.add("left", range(50))
    sampler.add("right", range(50, 100))
    sampler.draw({"left": 1, "right": 1})
    assert len(sampler._groups) == 2
    sampler.add("both", range(100))
    sampler.draw({"both": 1})
    assert len(sampler._groups) == 1
    drawn = sampler.draw({"left": 10, "right": 10, "both": 10})
    shared = [b in (le, r) for le, r, b in zip(*drawn.values(), strict=True)]
    assert sum(shared) >= 7


def test_a_small_overlap_of_large_sets_that_is_not_seen_costs_sharing_only() -> None:
    """Two groups with a row in common that no probe met must not be put together."""
    large = np.arange(300_000)
    few = np.concatenate([np.arange(300_000, 310_000), large[7:270_000:30_011]])
    for seed in range(3):
        sampler = DependentSampler(seed)
        for job, rows in {"large": large, "few": few}.items():
            sampler.add(job, rows)
            sampler.draw({job: 1})
        sampler.add("both", np.union1d(large, few))
        read = [sampler.draw({"both": 1})["both"]]
        read.append(sampler.draw({"both": sampler.remaining("both")})["both"])
        assert np.array_equal(np.sort(np.concatenate(read)), np.union1d(large, few))


def test_numbers_of_jobs_that_left_are_used_again() -> None:
    sampler = DependentSampler(0)
    sampler.add("stays", range(20))
    sampler.draw({"stays": 1})
    for cycle in range(30):
        sampler.add("beside", range(100, 120))
        sampler.draw({"beside": 1})
        sampler.add("links", range(10, 110))
        sampler.draw({"links": 1})
        sampler.remove("beside")
        sampler.remove("links")
        assert sum(len(group.members) for group in sampler._groups) <= 3, cycle


def test_a_job_beside_a_much_larger_one_goes_through_its_passes_without_it() -> None:
    sampler = DependentSampler(0)
    sampler.add("large", range(1_000_000))
    sampler.draw({"large": 1})
    for _ in range(3):
        sampler.add("small", range(64))
        assert sorted(sampler.draw({"small": 64, "large": 64})["small"].tolist()) == list(range(64))
    assert len(sampler._groups) == 2
