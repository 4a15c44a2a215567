"""How much of a batch is there when it is wanted, section 5.5 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_hits
from papers.figures.lobster_node import MEMORY
from tests.papers.figures.rows import by_case


def test_hits_of_the_baselines_follow_from_those_of_nopfs_and_a_pool_has_more() -> None:
    found = by_case(lobster_hits.FIGURE, Effort(1500, 1, (1.0,)))
    assert found["NoPFS (fitted)"].ours == pytest.approx(48.9)
    assert found["PyTorch"].ours == pytest.approx(24.5, abs=3)
    assert found["DALI, 3 read"].ours == pytest.approx(32.6, abs=3)
    ours = found["joader, pool of 8"]
    assert ours.ours >= 63.2
    # Memory holds prepared rows, which are larger than raw ones: fewer than NoPFS keeps.
    assert ours.baseline is not None
    assert ours.baseline < 100 * MEMORY


@pytest.mark.slow
def test_runs_at_two_scales_agree_within_a_point() -> None:
    smaller, larger = (
        by_case(lobster_hits.FIGURE, Effort(size, 1, (1.0,))) for size in (5000, 10_000)
    )
    for case in ("PyTorch", "NoPFS (fitted)", "joader, pool of 8"):
        assert smaller[case].ours == pytest.approx(larger[case].ours, abs=1)
