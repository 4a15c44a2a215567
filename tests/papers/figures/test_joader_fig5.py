"""CPU use of equal jobs, Figure 5 of the JOADER paper."""

from papers.figure import Effort
from papers.figures import joader_fig5
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_more_jobs_use_more_cores_but_far_less_than_alone() -> None:
    found = by_point(joader_fig5.FIGURE, SMALL)
    uses = [found["PyTorch", jobs].ours for jobs in range(1, 7)]
    assert uses == sorted(uses)
    last = found["PyTorch", 6]
    assert last.baseline is not None
    assert last.ours < 0.8 * last.baseline
