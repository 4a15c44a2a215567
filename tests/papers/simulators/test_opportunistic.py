"""What is in memory is drawn first: more is shared, and no order is a reshuffle."""

import numpy as np

from papers.simulators.opportunistic import OpportunisticSampler
from papers.simulators.sharing import Reader, share, unevenness

ROWS = np.arange(1000)


def test_opportunistic_sampling_shares_more_and_is_no_reshuffle() -> None:
    readers = [Reader(ROWS), Reader(ROWS, start=0.3)]
    streams, other = (share(order, readers, 50, passes=4) for order in ("streams", "opportunistic"))
    assert other.prepared_per_delivered < streams.prepared_per_delivered
    assert unevenness(other.passes) > 20
    assert unevenness(streams.passes) < 3  # mean 1, standard deviation 0.35


def test_opportunistic_sampling_reads_every_row_once() -> None:
    ready = np.zeros(100, np.bool_)
    sampler = OpportunisticSampler(lambda rows: ready[rows], seed=1)
    sampler.add("a", range(100))
    ready[90:] = True
    first = sampler.draw({"a": 15})["a"]
    assert set(first[:10].tolist()) == set(range(90, 100))
    assert sampler.unread("a").tolist() == sorted(set(range(100)) - set(first.tolist()))
    rest = sampler.draw({"a": 85})["a"]
    assert sorted([*first.tolist(), *rest.tolist()]) == list(range(100))
    assert sampler.remaining("a") == 0
    sampler.remove("a")
