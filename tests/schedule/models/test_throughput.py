"""A job is as fast as it trains, or as its rows are loaded."""

import pytest

from joader.schedule.models.loading_rate import LoadingRate, Stage
from joader.schedule.models.throughput import samples_per_s, workers_needed


def test_throughput_is_the_lesser_of_both_rates_and_demand_is_where_they_meet() -> None:
    model = LoadingRate((Stage("free", 8, (0.004, 0.0), (0.006, 0.0)),))
    assert samples_per_s(64, 0.2, model, 2) == pytest.approx(200.0)
    assert samples_per_s(64, 0.2, model, 8) == pytest.approx(320.0)
    needed = workers_needed(64, 0.2, model, 16)
    assert needed == pytest.approx(3.2)
    assert model.rows_per_s(needed) == pytest.approx(320.0)
    assert workers_needed(64, 0.0001, model, 16) == 16
