"""Why GPUs wait on eight nodes, Figure 3 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_breakdown
from tests.papers.figures.rows import by_case


def test_no_gpu_waits_for_another_if_eight_nodes_hold_all_rows() -> None:
    found = by_case(lobster_breakdown.FIGURE, Effort(300, 1, (1.0,)))
    assert found["imbalanced: DALI (fitted)"].ours == pytest.approx(65.3, abs=2)
    assert found["imbalanced: joader"].ours == 0
