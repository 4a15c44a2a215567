"""GPUs that do not get their data together, Figures 8a and 8b of the Lobster paper."""

import numpy as np
import pytest

from papers.figure import Effort
from papers.figures import lobster_imbalance
from papers.figures.lobster_imbalance import lateness, paper
from tests.papers.figures.rows import by_case


def test_both_readings_of_the_percentages_are_those_that_can_be_meant() -> None:
    assert paper("PyTorch", 1, "points") == pytest.approx(48.9)
    assert paper("PyTorch", 1, "relative") == pytest.approx(25.5, abs=0.05)
    assert paper("joader", 8, "points") == paper("joader", 8, "relative") == 22.8


def test_ranks_that_draw_from_one_pool_are_ready_together() -> None:
    found = by_case(lobster_imbalance.FIGURE, Effort(1500, 1, (1.0,)))
    for reading in lobster_imbalance.READINGS:
        assert found[f"{reading}: joader x1"].ours <= 17.5
        assert found[f"{reading}: joader x8"].ours <= 22.8
    apart, together = (lateness(0.9, pooled, 200, 0) for pooled in (False, True))
    assert np.median(together) < 0.7 * np.median(apart)
