"""Minutes per epoch, Table 1 of the JOADER paper: two columns fitted, one predicted."""

import pytest

from papers.figure import Effort
from papers.figures import joader_table1
from papers.figures.titan_server import (
    COORDL,
    PYTORCH,
)
from tests.papers.figures.rows import by_point

SMALL = Effort(1500, 1, (1.0,))


def test_the_server_fits_both_baselines_of_table_1() -> None:
    found = by_point(joader_table1.FIGURE, SMALL)
    for case, paper in (("PyTorch (fitted)", PYTORCH), ("CoorDL (fitted)", COORDL)):
        for jobs, minutes in enumerate(paper, 1):
            assert found[case, jobs].ours == pytest.approx(minutes, rel=0.06)


def test_the_column_of_joader_is_predicted() -> None:
    found = by_point(joader_table1.FIGURE, SMALL)
    for jobs in range(1, 7):
        row = found["JOADER", jobs]
        assert row.ours == pytest.approx(row.paper, rel=0.06)
    assert found["JOADER", 6].ours == pytest.approx(37.55, rel=0.02)
