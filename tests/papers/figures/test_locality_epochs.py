"""Epochs on many nodes, Figure 12 of the locality paper."""

import pytest

from papers.figure import Effort
from papers.figures import locality_epochs
from tests.papers.figures.rows import by_point

SMALL = Effort(500, 1, (1.0,))


def test_epochs_on_64_nodes_are_as_much_faster_as_the_paper_says() -> None:
    found = by_point(locality_epochs.FIGURE, SMALL)
    assert found["even at 32", 64].ours == pytest.approx(1.9, abs=0.05)
    assert found["even at 32", 16].ours == pytest.approx(1.0)
