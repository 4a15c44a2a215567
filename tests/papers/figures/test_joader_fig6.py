"""Models of different speed at once, Figure 6 of the JOADER paper."""

import pytest

from papers.figure import Effort
from papers.figures import joader_fig6
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_every_model_keeps_its_own_speed() -> None:
    found = by_point(joader_fig6.FIGURE, SMALL)
    assert found["order joint", 1.8].ours >= 4
    assert found["order joint", 11.5].ours == pytest.approx(1, abs=0.05)
