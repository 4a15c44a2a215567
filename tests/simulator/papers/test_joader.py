"""What the JOADER paper says, and what comes out here."""

import sys

import pytest

from joader.engine import Engine
from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers import (
    joader_fig5,
    joader_fig6,
    joader_fig7a,
    joader_fig7b,
    joader_io,
    joader_table1,
)
from joader.simulator.papers.joader_counts import prepared_parts
from joader.simulator.papers.titan_server import (
    COORDL,
    PYTORCH,
    Server,
    Trainer,
    fitted,
    lifetimes,
    mean_use,
    stretches,
)

SMALL = Effort(1500, 1, (1.0,))


def rows_of(figure: Figure) -> dict[tuple[str, float], Row]:
    return {(row.case, row.x): row for row in figure.rows(0, SMALL, lambda: None)}


def test_the_server_fits_both_baselines_of_table_1() -> None:
    found = rows_of(joader_table1.FIGURE)
    for case, paper in (("PyTorch (fitted)", PYTORCH), ("CoorDL (fitted)", COORDL)):
        for jobs, minutes in enumerate(paper, 1):
            assert found[case, jobs].ours == pytest.approx(minutes, rel=0.06)


def test_the_column_of_joader_is_predicted() -> None:
    found = rows_of(joader_table1.FIGURE)
    for jobs in range(1, 7):
        row = found["JOADER", jobs]
        assert row.ours == pytest.approx(row.paper, rel=0.06)
    assert found["JOADER", 6].ours == pytest.approx(37.55, rel=0.02)


def test_more_jobs_use_more_cores_but_far_less_than_alone() -> None:
    found = rows_of(joader_fig5.FIGURE)
    uses = [found["PyTorch", jobs].ours for jobs in range(1, 7)]
    assert uses == sorted(uses)
    last = found["PyTorch", 6]
    assert last.baseline is not None
    assert last.ours < 0.8 * last.baseline


def test_every_model_keeps_its_own_speed() -> None:
    found = rows_of(joader_fig6.FIGURE)
    assert found["order joint", 1.8].ours >= 4
    assert found["order joint", 11.5].ours == pytest.approx(1, abs=0.05)


def test_jobs_that_arrive_later_share_and_more_so_by_streams() -> None:
    found = rows_of(joader_fig7a.FIGURE)
    assert found["time: order joint", 25].ours == pytest.approx(100 - 17.1, abs=4)
    assert found["time: order shared", 25].ours < found["time: order joint", 25].ours


def test_cpu_use_falls_with_what_datasets_have_in_common() -> None:
    found = rows_of(joader_fig7b.FIGURE)
    uses = [found["PyTorch", percent].ours for percent in (0, 25, 50, 75, 100)]
    assert uses == sorted(uses, reverse=True)
    assert uses[2] == pytest.approx(90, abs=5)
    assert uses[4] == pytest.approx(60, abs=11)


def test_disks_that_are_fast_enough_are_those_that_the_paper_names() -> None:
    found = rows_of(joader_io.FIGURE)
    assert found[joader_io.AT_MOST, 6].ours == pytest.approx(350, rel=0.15)
    assert found["1 to 6 jobs", 6].ours < found["1 to 6 jobs", 1].ours


def test_counts_come_from_the_engine_that_serves_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = []

    class Watched(Engine):
        def handle(self, *events, **options):  # type: ignore[no-untyped-def]
            handled.extend(events)
            return super().handle(*events, **options)

    monkeypatch.setattr(sys.modules["joader.simulator.simulate"], "Engine", Watched)
    prepared_parts.cache_clear()
    parts = prepared_parts("dependent", (1.0, 1.0), (0.0, 0.0), 1.0, 200, 5)
    assert sum(parts) == pytest.approx(1.0)
    assert len(handled) > 50


def test_a_job_takes_its_gpus_time_unless_cores_run_short() -> None:
    server = Server(gpu_min=30, shared_min=8, own_min=2, bend=3)
    jobs = [Trainer(30, 0.01), Trainer(30, 0.01, start_min=15)]
    found = list(stretches(server, jobs))
    assert lifetimes(jobs, found) == pytest.approx([30, 30], rel=1e-3)
    assert [part.running for part in found] == [(0,), (0, 1), (1,)]
    crowd = [Trainer(30, 30)] * 10
    busy = list(stretches(server, crowd))
    assert lifetimes(crowd, busy)[0] == pytest.approx(300, rel=0.01)
    assert mean_use(busy) == pytest.approx(1, abs=0.01)
    assert fitted() is fitted()
