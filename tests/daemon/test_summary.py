"""What a daemon leaves when it ends."""

import stat
from pathlib import Path

import pytest

from joader.daemon.summary import write_summary
from joader.statistics import NodeStatistics, RunStatistics, TotalStatistics, run_from_json


def run(delivered: int) -> RunStatistics:
    return RunStatistics(node=NodeStatistics(totals=TotalStatistics(delivered=delivered)))


def test_its_figures_can_be_read_again_and_are_for_the_user_alone(tmp_path: Path) -> None:
    write_summary(run(5), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 5
    assert "<html" in (tmp_path / "summary.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.html", "summary.json"]
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_daemon_that_did_nothing_leaves_what_the_one_before_did(tmp_path: Path) -> None:
    write_summary(run(5), tmp_path)
    write_summary(run(0), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 5
    write_summary(run(7), tmp_path)
    assert run_from_json((tmp_path / "summary.json").read_bytes()).node.totals.delivered == 7


def test_a_folder_that_cannot_be_written_to_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_summary(run(5), tmp_path / "none")
    assert "no summary could be written" in caplog.text
