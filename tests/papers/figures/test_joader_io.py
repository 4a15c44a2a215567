"""How fast a disk has to be, appendix A.1 of the JOADER paper."""

import pytest

from papers.figure import Effort
from papers.figures import joader_io
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_disks_that_are_fast_enough_are_those_that_the_paper_names() -> None:
    found = by_point(joader_io.FIGURE, SMALL)
    assert found[joader_io.AT_MOST, 6].ours == pytest.approx(350, rel=0.15)
    assert found["1 to 6 jobs", 6].ours < found["1 to 6 jobs", 1].ours
