"""Figures that are measured: which there are, how they are asked for, and one real run."""

import json
from pathlib import Path

import pytest

from joader.cli.main import main
from papers.every_figure import EVERY_FIGURE
from papers.figure import Effort
from papers.live.group import Paced, place, run
from papers.live.joader_accuracy import p_value
from papers.live.live_figures import live_figures, measured_figures
from papers.live.threads import enough, lobster_threads


def test_live_figures_have_a_simulated_form_and_measured_ones_have_none() -> None:
    assert set(live_figures()) <= set(EVERY_FIGURE)
    assert not set(measured_figures()) & set(EVERY_FIGURE)
    assert len(live_figures()) == 5


def test_a_figure_without_a_live_form_says_which_have_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["reproduce", "lobster-hits", "--live"]) == 2
    assert "has no live form; those that have: joader-table1" in capsys.readouterr().err
    assert main(["reproduce", "lobster-hits", "--data", "."]) == 2
    assert "needs no --data" in capsys.readouterr().err


def test_without_torch_a_measured_figure_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("papers.live.live_figures.find_spec", lambda name: None)
    monkeypatch.setattr("papers.reproduce.OF_THE_PAPERS", {})
    for arguments in (["lobster-threads"], ["joader-table1", "--live"]):
        assert main(["reproduce", *arguments]) != 0
        assert "need torch and PIL: pip install '.[torch,images]'" in capsys.readouterr().err
    assert main(["reproduce", "--all", "--quick"]) == 0
    assert "left out: lobster-threads, locality-threads" in capsys.readouterr().err


def test_what_was_kept_is_drawn_without_running_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"case": "Pillow", "paper": None, "ours": 200.0, "baseline": 100.0, "unit": "pictures/s"}
    kept = {
        "name": "lobster-threads",
        "seed": 0,
        "seconds": 1.0,
        "rows": [{**row, "x": x} for x in (1, 2)],
        "notes": ["enough threads there: 2"],
    }
    path, plot = tmp_path / "kept.json", tmp_path / "kept.png"
    path.write_text(json.dumps(kept))
    assert main(["reproduce", "lobster-threads", "--from", str(path), "--plot", str(plot)]) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "enough threads there: 2" in printed
    assert main(["reproduce", "locality-threads", "--from", str(path)]) == 2
    assert "has figure 'lobster-threads', not 'locality-threads'" in capsys.readouterr().err
    path.write_text("{}")
    assert main(["reproduce", "lobster-threads", "--from", str(path)]) == 2
    assert "is not a figure that was kept with --json" in capsys.readouterr().err


def test_enough_threads_are_the_fewest_that_give_almost_the_most() -> None:
    assert enough({1: 100.0, 2: 198.0, 3: 200.0, 4: 190.0}) == 2


def test_chance_is_counted_over_all_splits() -> None:
    assert p_value([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]) == pytest.approx(2 / 20)


def test_threads_are_measured_one_number_after_the_other() -> None:
    ticks: list[None] = []
    effort = Effort(150, 1, (1.0,))
    figure = lobster_threads()
    rows = list(figure.rows(0, effort, lambda: ticks.append(None)))
    assert len(ticks) == figure.steps(effort) == len(rows)
    assert all(row.ours > 0 for row in rows)
    assert figure.notes(effort)


@pytest.mark.slow
def test_jobs_with_joader_prepare_each_picture_once_and_with_torch_each_for_itself() -> None:
    with place(24) as here:
        jobs = [Paced(0, 24), Paced(0, 24)]
        torch, joader = run(here, "torch", jobs, 0), run(here, "joint", jobs, 1)
    assert (torch.prepared, joader.prepared) == (48, 24)
    assert min(torch.cpu_s, joader.cpu_s) > 0
    assert len(joader.seconds) == 2
