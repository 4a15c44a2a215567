"""`joader simulate`: a workload from a file or at random, printed, kept and drawn."""

import json
from pathlib import Path

import pytest

from joader.cli.main import main

WORKLOAD = """
seconds = 3
[[job]]
name = "a"
rows = 100000
[[job]]
name = "b"
dataset = "other"
"""


@pytest.fixture
def workload(tmp_path: Path) -> str:
    path = tmp_path / "workload.toml"
    path.write_text(WORKLOAD)
    return str(path)


def test_who_gets_what_is_printed_kept_and_drawn(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot, figures = tmp_path / "plot.svg", tmp_path / "figures.json"
    both = ["--policy", "fair", "--policy", "even"]
    assert main(["simulate", workload, *both, "--plot", str(plot), "--json", str(figures)]) == 0
    shown = capsys.readouterr().out
    assert "fair: 4" in shown
    assert "even: 4" in shown
    found = json.loads(figures.read_text())["outcomes"]
    assert [one["policy"] for one in found] == ["fair", "even"]
    assert [job["name"] for job in found[0]["jobs"]] == ["a", "b"]
    assert found[0]["glances"]
    drawn = plot.read_text()
    assert "workers computing for the job" in drawn
    assert ">even<" in drawn


def test_json_alone_goes_to_standard_output(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", workload, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["seed"] == 0
    assert "fair:" in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give a workload file or --random"),
        (["x.toml", "--random"], "give a workload file or --random"),
        (["/nowhere.toml"], "there is no workload '/nowhere.toml' in /"),
        (["/etc"], "cannot read the workload '/etc': Is a directory"),
        (["--random", "99"], "draw from 1 to 64"),
        (["--random", "--policy", "mine"], "no policy 'mine'"),
        (["--random", "--plot", "a.gif"], ".png or .svg"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(
    arguments: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("the work started")

    monkeypatch.setattr("joader.cli.simulate.play", work)
    assert main(["simulate", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_how_far_it_has_come_is_shown_on_a_terminal_and_nowhere_else(
    workload: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("joader.cli.simulate._LOOKS_PER_S", 1e9)
    assert main(["simulate", workload]) == 0
    assert "playing" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shown: list[str] = []
    monkeypatch.setattr("rich.status.Status.update", lambda _, text: shown.append(text))
    assert main(["simulate", workload]) == 0
    assert "fair: playing 2 jobs" in capsys.readouterr().out
    assert shown[-1].endswith("3 s on their clock")
