"""The machine of the A-Dloader paper goes through the rates that it prints."""

import pytest

from papers.figures.adloader_machine import loading


def test_the_loading_curve_goes_through_the_baselines_it_is_fitted_to() -> None:
    assert (loading(10), loading(18)) == (pytest.approx(1391), pytest.approx(1660))
    assert loading(0) == 0
    assert loading(30) == loading(24) > loading(18)
