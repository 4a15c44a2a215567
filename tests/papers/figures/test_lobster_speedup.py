"""Speed beside PyTorch, Figure 7 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_speedup
from tests.papers.figures.rows import by_case


def test_a_pool_is_faster_than_nopfs_on_one_node_and_on_eight() -> None:
    speed = by_case(lobster_speedup.FIGURE, Effort(600, 1, (1.0,)))
    assert speed["1K, 1 node: NoPFS"].ours == pytest.approx(1.33, abs=0.1)
    for panel in lobster_speedup.PANELS:
        assert speed[f"{panel}: joader"].ours > 1.2 * speed[f"{panel}: NoPFS"].ours
