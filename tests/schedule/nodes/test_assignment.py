"""Every row is trained on once, every node has its quota, and as little moves as possible."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument
from joader.schedule.nodes.assignment import NOBODY, assign, even_quotas
from tests.trials import trials


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    nodes = draw(st.integers(1, 8))
    holders = draw(st.lists(st.integers(NOBODY, nodes - 1), max_size=60))
    cuts = sorted(
        draw(st.lists(st.integers(0, len(holders)), min_size=nodes - 1, max_size=nodes - 1))
    )
    return holders, np.diff([0, *cuts, len(holders)]).tolist()


@given(batches())
@settings(max_examples=trials(1000, 150), deadline=None)
def test_everybody_has_the_quota_and_moves_what_must_move(
    batch: tuple[list[int], list[int]],
) -> None:
    holders, quotas = np.array(batch[0], np.int64), batch[1]
    found = assign(holders, quotas)
    assert np.bincount(found.trainer, minlength=len(quotas)).tolist() == quotas
    held = np.bincount(holders[holders >= 0], minlength=len(quotas))
    # A node with more than its quota must give the rest away; nothing else has to move.
    must_move = int(np.maximum(held - quotas, 0).sum())
    moved = (found.trainer != holders) & (holders != NOBODY)
    assert moved.sum() == found.moved == must_move
    assert len(found.transfers) <= max(len(quotas) - 1, 0)
    pairs = list(zip(holders[moved].tolist(), found.trainer[moved].tolist(), strict=True))
    for transfer in found.transfers:
        assert pairs.count((transfer.giver, transfer.taker)) == transfer.rows


def test_the_example_of_figures_4_and_5_moves_two_of_twelve_rows() -> None:
    red, green, blue = 0, 1, 2
    found = assign([red] * 2 + [green] * 6 + [blue] * 4, [4, 4, 4])
    assert found.moved / 12 == pytest.approx(0.17, abs=0.005)


def test_rows_that_nobody_holds_go_to_those_who_are_short_and_save_transfers() -> None:
    found = assign([0, 0, 0, 0, NOBODY, NOBODY, 1, NOBODY], [3, 3, 2])
    assert found.moved == 1
    assert len(found.transfers) == 1


def test_what_is_left_over_of_a_batch_stays_where_most_of_it_is() -> None:
    assert even_quotas([1, 5, 4, 0], 10) == [2, 3, 3, 2]
    assert even_quotas([0, 0], 4) == [2, 2]


@pytest.mark.parametrize(
    ("holders", "quotas", "words"),
    [([0, 1], [1, 2], "add up to 3"), ([0, 2], [1, 1], "held by node 2")],
)
def test_a_batch_that_does_not_fit_its_quotas_is_refused(
    holders: list[int], quotas: list[int], words: str
) -> None:
    with pytest.raises(BadArgument, match=words):
        assign(holders, quotas)


@pytest.mark.parametrize(
    ("nodes", "local", "percent"),
    [(16, 32, 6.9), (16, 64, 4.8), (16, 128, 3.4), (64, 64, 4.8), (3, 32, 5.2), (3, 128, 2.9)],
)
def test_balancing_moves_as_much_as_figure_6_says(nodes: int, local: int, percent: float) -> None:
    rng = np.random.default_rng(0)
    homes = np.full(nodes, 100 * local)
    found = []
    # The fewer nodes, the wider apart are the values that a step can have.
    for _ in range(6000 // nodes):
        drawn = rng.multivariate_hypergeometric(homes, nodes * local, method="marginals")
        holders = np.repeat(np.arange(nodes), drawn)
        found.append(assign(holders, [local] * nodes).moved / holders.size)
    assert 100 * float(np.median(found)) == pytest.approx(percent, abs=0.3)
