"""Splitting a batch by home changes nothing but who normalizes with whom."""

import numpy as np
import pytest
import torch

from joader.schedule.nodes.placement import Node, homes
from papers.figure import Effort
from papers.live.locality_accuracy import LOCAL, arranged, figure, p_value, trained
from papers.live.network import SplitNorm, network
from papers.live.small_pictures import opened

NODES = 4


def batch_and_homes() -> tuple[np.ndarray, np.ndarray]:
    live = homes(np.arange(1000), [Node(f"node-{number}") for number in range(NODES)])
    return np.random.default_rng(0).permutation(1000)[: NODES * LOCAL], live


def test_both_splits_train_on_every_row_of_the_batch_once() -> None:
    batch, live = batch_and_homes()
    for split in ("by home", "uniform"):
        assert sorted(arranged(batch, live, NODES, split)) == list(range(batch.size))


def test_by_home_rows_are_trained_on_where_they_live_as_far_as_that_is_even() -> None:
    batch, live = batch_and_homes()

    def at_home(split: str) -> float:
        trainer = np.repeat(np.arange(NODES), LOCAL)
        return float((live[batch[arranged(batch, live, NODES, split)]] == trainer).mean())

    assert at_home("by home") > 0.9
    assert at_home("uniform") < 0.45


def test_the_gradient_of_a_step_is_the_same_for_both_splits_without_normalization() -> None:
    """Theorem 1 of the locality paper."""
    batch, live = batch_and_homes()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5)).double()
    x, y = torch.randn(1000, 3, 2, 2).double(), torch.randint(0, 5, (1000,))
    gradients = []
    for split in ("by home", "uniform"):
        rows = batch[arranged(batch, live, NODES, split)]
        model.zero_grad()
        for part in np.split(rows, NODES):  # each node adds its own
            loss = torch.nn.functional.cross_entropy(model(x[part]), y[part]) / NODES
            loss.backward()
        gradients.append(model[1].weight.grad.clone())
    assert torch.allclose(*gradients, rtol=1e-12, atol=1e-14)


def test_each_part_is_normalized_by_itself_as_a_node_would() -> None:
    torch.manual_seed(0)
    x = 3 * torch.randn(NODES * 8, 6, 5, 5) + 2
    split = SplitNorm(6, NODES)
    usual = [torch.nn.BatchNorm2d(6) for _ in range(NODES)]
    apart = torch.cat([one(part) for one, part in zip(usual, x.chunk(NODES), strict=True)])
    assert torch.allclose(split(x), apart, atol=1e-5)
    assert torch.allclose(split.mean, usual[0].running_mean, atol=1e-6)
    split.eval()
    usual[0].eval()
    split.variance.copy_(usual[0].running_var)  # torch's is that of n - 1
    assert torch.allclose(split(x), usual[0](x), atol=1e-5)
    assert network(4, NODES)(torch.randn(NODES * 2, 3, 32, 32)).shape == (NODES * 2, 10)


def test_chance_is_counted_over_all_signs() -> None:
    assert p_value([1.0, 1.0, 1.0, 1.0, 1.0]) == pytest.approx(2 / 32)
    assert p_value([1.0, -1.0]) == 1.0


def test_a_training_depends_on_its_seed_alone() -> None:
    pictures = opened(None, 320)
    found = [trained(pictures, "by home", 2, 1, 2, seed) for seed in (3, 3)]
    assert found[0] == found[1]


def test_a_try_says_that_it_is_one() -> None:
    assert "a try on 320 made pictures" in figure(None).scale(Effort(2000, 1, ()))
    assert "CIFAR-10" in figure("somewhere").scale(Effort(10_000, 5, ()))
