"""What datasets have in common, Figure 7b of the JOADER paper."""

import pytest

from papers.figure import Effort
from papers.figures import joader_fig7b
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_cpu_use_falls_with_what_datasets_have_in_common() -> None:
    found = by_point(joader_fig7b.FIGURE, SMALL)
    uses = [found["PyTorch", percent].ours for percent in (0, 25, 50, 75, 100)]
    assert uses == sorted(uses, reverse=True)
    assert uses[2] == pytest.approx(90, abs=5)
    assert uses[4] == pytest.approx(60, abs=11)
