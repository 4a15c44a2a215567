"""`joader reproduce` and `joader demo`, run as a person would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from joader.cli.chart import chart
from joader.cli.main import main
from joader.simulator.figures import FIGURES


def joader(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "joader.cli.main", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_list_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in FIGURES)


def test_a_figure_is_printed_kept_and_drawn(tmp_path: Path) -> None:
    run = joader(
        *("reproduce", "joader-sizes4", "--quick", "--json", "deep/er.json"),
        *("--plot", "a.png", "--plot", "b/c.svg"),
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for word in ("paper", "baseline", "a.png", "b/c.svg", "deep/er.json"):
        assert word in run.stdout
    kept = json.loads((tmp_path / "deep/er.json").read_text())
    assert list(kept) == ["name", "source", "seed", "seconds", "rows"]
    assert set(kept["rows"][0]) == {"case", "x", "paper", "ours", "baseline", "unit"}
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "b/c.svg").read_text()


def test_json_on_standard_output_is_nothing_but_json(tmp_path: Path) -> None:
    run = joader("reproduce", "joader-insert", "--quick", "--json", "-", cwd=tmp_path)
    assert json.loads(run.stdout)["name"] == "joader-insert"
    assert "baseline" in run.stderr


def test_equal_seeds_give_equal_figures(tmp_path: Path) -> None:
    def rows(seed: str) -> object:
        path = tmp_path / f"{seed}.json"
        arguments = ["reproduce", "joader-random4", "--quick", "--seed", seed, "--json", str(path)]
        assert main(arguments) == 0
        return json.loads(path.read_text())["rows"]

    assert rows("3") == rows("3") != rows("4")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["reproduce", "joader-fig4z"], "did you mean 'joader-fig4"),
        (["reproduce", "x"], "`joader reproduce --list` names them all"),
        (["reproduce", "joader-sizes4", "--quick", "--plot", "a.gif"], ".png or .svg"),
        (["reproduce", "joader-insert", "--quick", "--json", "/proc/no.json"], "cannot write"),
    ],
)
def test_wrong_arguments_get_one_line_and_code_2(
    arguments: list[str], word: str, tmp_path: Path
) -> None:
    run = joader(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert word in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_that_is_none_is_refused(seed: str, tmp_path: Path) -> None:
    run = joader("reproduce", "joader-sizes4", "--seed", seed, cwd=tmp_path)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_the_demo_shows_curves_and_leaves_a_picture(tmp_path: Path) -> None:
    run = joader("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "times less" in run.stdout
    assert any("\u2800" < letter <= "\u28ff" for letter in run.stdout)
    assert (tmp_path / "out/demo.png").exists()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    run = subprocess.run(
        f"{sys.executable} -m joader.cli.main reproduce --list | head -n 1",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""


def test_a_chart_puts_high_values_high() -> None:
    lines = chart({"falling": [(0, 100), (10, 0)]}, "x", "y", 10, 5).splitlines()
    assert "[cyan]" in lines[1]
    assert lines[1].index("[cyan]") < lines[5].index("[cyan]")
