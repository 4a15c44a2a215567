"""`joader demo`, on small sets."""

import json
from pathlib import Path

import pytest

from joader.cli.main import main
from joader.errors import MissingExtra
from joader.simulator.figures import QUICK


@pytest.fixture(autouse=True)
def small_and_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joader.cli.demo.DEMO", QUICK)
    monkeypatch.chdir(tmp_path)


def test_the_demo_shows_curves_and_leaves_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "times less" in printed
    assert any("\u2800" < letter <= "\u28ff" for letter in printed)
    assert "plot: out/demo.png" in printed
    assert (tmp_path / "out/demo.png").read_bytes().startswith(b"\x89PNG")


def test_its_figures_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json", "-"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "joader-random4"
    assert "times less" in printed.err
    assert main(["demo", "--json", "a.json"]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["rows"]


def test_without_matplotlib_there_are_curves_and_no_picture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(path: str) -> None:
        raise MissingExtra("plots need matplotlib: pip install 'joader[plots]'")

    monkeypatch.setattr("joader.cli.run.check_plot_path", missing)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "times less" in printed
    assert "No picture: plots need matplotlib: pip install 'joader[plots]'" in printed
    assert not list(tmp_path.rglob("*.png"))
