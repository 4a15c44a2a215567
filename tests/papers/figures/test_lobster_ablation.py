"""What threads and what memory are worth, each alone, Figure 11 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_ablation
from tests.papers.figures.rows import by_case


def test_threads_are_worth_more_than_memory_and_both_together_most() -> None:
    parts = by_case(lobster_ablation.FIGURE, Effort(600, 1, (1.0,)))
    alone, memory, both = (parts[name].ours for name in lobster_ablation.PAPER)
    assert both == pytest.approx(1.7, abs=0.2)
    assert 1 < memory < alone < both
