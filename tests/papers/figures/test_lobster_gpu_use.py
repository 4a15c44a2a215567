"""GPU use and speed on one node, Figures 10 and 7 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_gpu_use
from tests.papers.figures.rows import by_case


def test_speed_of_nopfs_follows_from_the_gpu_use_of_pytorch() -> None:
    found = by_case(lobster_gpu_use.FIGURE, Effort(1500, 1, (1.0,)))
    assert found["GPU use: NoPFS"].ours == pytest.approx(72.4, abs=3)
    assert found["speed: NoPFS"].ours == pytest.approx(1.33, abs=0.05)
