"""After how many iterations a node reads a sample again, Figure 4 of the Lobster paper."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_reuse

SMALL = Effort(3000, 1, (1.0,))


def test_most_samples_of_usual_slices_come_back_late_and_none_of_those_that_live_here() -> None:
    rows = {row.x: row for row in lobster_reuse.FIGURE.rows(0, SMALL, lambda: None)}
    assert rows[1000].baseline == pytest.approx(80, abs=6)
    assert rows[1000].ours < 5
    assert rows[2000].ours == 0
