"""One job over many nodes: rows are read, sent and prepared as the deciding code says."""

import numpy as np
import pytest

from papers.simulators.many_nodes import Cluster, Loader, Pass, Rates, global_batches, one_pass

LOADERS: tuple[Loader, ...] = ("regular", "cached", "local")


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("nodes", [1, 3, 16])
@pytest.mark.parametrize("room", [0.0, 0.5, 1.0])
def test_every_row_is_prepared_once_and_comes_from_somewhere(
    loader: Loader, nodes: int, room: float
) -> None:
    found = one_pass(loader, 10_007, Cluster(nodes, 32, room), seed=3)
    assert found.prepared.sum() == 10_007
    assert found.prepared.max() - found.prepared.min() <= 10_007 // (nodes * 32) + 1
    assert found.sent.sum() == found.received.sum()
    expected = 10_007 if loader == "regular" else 10_007 - min(1.0, room) * 10_007
    assert found.read.sum() == pytest.approx(expected, abs=nodes)


def test_rows_that_are_kept_are_read_no_more_and_most_stay_where_they_are() -> None:
    cached, local = (one_pass(loader, 100_000, Cluster(16, 512)) for loader in ("cached", "local"))
    assert cached.read.sum() == local.read.sum() == 0
    assert cached.moved == pytest.approx(15 / 16, abs=0.01)
    assert local.moved == pytest.approx(0.4 / 512**0.5, abs=0.005)


def test_seconds_are_those_of_the_slowest_node_and_overlap_with_training() -> None:
    rates = Rates(storage=10, preparing=2, link=5, training=1)
    found = Pass(*(np.array(one) for one in ([20, 0], [0, 10], [10, 0], [20, 40])))
    assert found.loading_s(rates) == 20 / 10 + (10 / 5 + 40 / 2)
    assert found.training_s(rates) == found.epoch_s(rates) == 40
    assert found.waiting_s(rates) == 0
    slow = Rates(storage=0.1, preparing=2, link=5, training=1)
    assert found.waiting_s(slow) == 200 + 22 - 40


def test_batches_are_a_pass() -> None:
    batches = list(global_batches(1000, 128, seed=1))
    assert [batch.size for batch in batches] == [128] * 7 + [104]
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
