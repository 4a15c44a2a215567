"""Jobs that arrive one after the other, Figure 7a of the JOADER paper."""

import pytest

from papers.figure import Effort
from papers.figures import joader_fig7a
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_jobs_that_arrive_later_share_and_more_so_by_streams() -> None:
    found = by_point(joader_fig7a.FIGURE, SMALL)
    assert found["time: order joint", 25].ours == pytest.approx(100 - 17.1, abs=4)
    assert found["time: order shared", 25].ours < found["time: order joint", 25].ours
