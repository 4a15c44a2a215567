"""How much has to move for equal batches, Figure 6 of the locality paper."""

import numpy as np
import pytest

from papers.figure import Effort
from papers.figures import locality_imbalance
from tests.papers.figures.rows import by_point

SMALL = Effort(500, 1, (1.0,))


def test_imbalance_is_what_figure_6_says_from_16_nodes_on() -> None:
    found = by_point(locality_imbalance.FIGURE, SMALL)
    for row in found.values():
        if row.x == 3:
            continue
        # On 256 nodes a batch is half of these few rows, so its split varies less.
        if row.paper is not None and row.x < 256:
            assert row.baseline == pytest.approx(row.paper, abs=0.45)
            assert row.ours == pytest.approx(row.paper, abs=0.45)
    assert found["32 rows", 3].ours < found["32 rows", 16].ours


def test_medians_on_three_nodes_are_those_of_all_ways_to_draw_a_batch() -> None:
    medians = [locality_imbalance.counted_median(local) for local in (32, 64, 128)]
    # By brute force in other words: two million draws give 5/96, 7/192 and 10/384, too.
    assert medians == pytest.approx([500 / 96, 700 / 192, 1000 / 384])
    rng = np.random.default_rng(0)
    drawn = np.maximum(32 - rng.multinomial(96, [1 / 3] * 3, 20_000), 0).sum(1)
    assert 100 * np.median(drawn) / 96 == medians[0]
