"""What modeling contention is worth, in the A-Dloader paper and here."""

import pytest

from papers.figure import QUICK
from papers.figures import adloader_contention
from tests.papers.figures.rows import by_case


def test_contention_is_worth_what_the_paper_says() -> None:
    found = by_case(adloader_contention.FIGURE, QUICK)
    assert found["contention modeled"].ours == pytest.approx(1654, rel=0.01)
    assert found["contention ignored"].ours == pytest.approx(1391, rel=0.01)
