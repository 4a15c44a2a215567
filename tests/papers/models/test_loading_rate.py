"""A-Dloader's formula 7 in three stages."""

import pytest

from joader.errors import BadArgument
from papers.figures.adloader_machine import loading
from papers.models.loading_rate import fit
from papers.models.runs import LoadingRun

READ_S = 0.001


def run(workers: int, rows_per_s: float) -> LoadingRun:
    row_s = workers / rows_per_s
    return LoadingRun("a", 1000, workers, rows_per_s, READ_S, row_s - READ_S, row_s - READ_S)


def test_the_curve_of_the_papers_figure_is_found_with_its_stages() -> None:
    """Free up to 11 workers, saturated from 24 on."""
    model = fit([run(workers, loading(workers)) for workers in range(1, 33)])
    assert [stage.name for stage in model.stages] == ["free", "contended", "saturated"]
    assert 10 <= model.stages[0].most_workers <= 13
    assert 22 <= model.stages[1].most_workers <= 26
    for workers in range(1, 33):
        assert model.rows_per_s(workers) == pytest.approx(loading(workers), rel=0.02)
    assert model.rows_per_s(64) == pytest.approx(loading(32), rel=0.02)
    assert model.stages[0].read == pytest.approx((READ_S, 0.0))


def test_few_runs_make_fewer_stages() -> None:
    model = fit([run(1, 100.0), run(2, 150.0), run(4, 160.0)])
    assert model.rows_per_s(1) == pytest.approx(100.0)
    with pytest.raises(BadArgument, match="two numbers of workers"):
        fit([run(2, 150.0), run(2, 151.0)])
