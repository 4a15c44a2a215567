"""`joader reproduce`, run as a person would."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from joader.cli.main import main
from papers import figure as figures
from papers.figure import FULL, Effort, Row
from papers.figures.appendix import FIG4B, FIGURES
from papers.reproduce import as_table, number
from papers.run import Run
from tests.cli.command import joader


def test_a_figure_is_printed_kept_and_drawn(tmp_path: Path) -> None:
    run = joader(
        *("reproduce", "joader-insert", "--quick", "--json", "deep/er.json"),
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


def test_a_path_is_not_taken_for_markup(tmp_path: Path) -> None:
    run = joader(
        "reproduce", "joader-insert", "--quick", "--plot", "p[/x].png", "--json", "[b].json",
        cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "plot: p[/x].png" in run.stdout
    assert "figures: [b].json" in run.stdout


def test_json_on_standard_output_is_nothing_but_json(tmp_path: Path) -> None:
    run = joader("reproduce", "joader-insert", "--quick", "--json", "-", cwd=tmp_path)
    assert json.loads(run.stdout)["name"] == "joader-insert"
    assert "baseline" in run.stderr


def test_equal_seeds_give_equal_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "QUICK", Effort(60, 1, (0.0, 0.4, 1.0)))

    def rows(seed: str) -> object:
        path = tmp_path / f"{seed}.json"
        arguments = ["reproduce", "joader-sizes4", "--quick", "--seed", seed, "--json", str(path)]
        assert main(arguments) == 0
        return json.loads(path.read_text())["rows"]

    assert rows("3") == rows("3") != rows("4")


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_table_fits_80_columns_and_no_case_is_broken_over_lines(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = ("random replacement", "join and first draw")
    rows = [Row(case, 10_000, 13_333.0, 13_333.0, 39_999.0, "samples prepared") for case in cases]
    Console(width=80).print(as_table(Run(FIGURES[name], FULL, 0, 1.0, rows)))
    printed = capsys.readouterr().out
    assert all(f"│ {case} " in printed for case in cases)
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_a_table_says_that_a_value_may_be_expected_and_how_large_the_run_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [Row("75 %", 1, 13_466.0, 13_450.0, 17_500.0, "samples prepared")]
    Console(width=120).print(as_table(Run(FIG4B, FULL, 0, 1.0, rows)))
    printed = capsys.readouterr().out
    assert "paper or expected" in printed
    assert "largest set 10,000 rows, mean of 5 seeds" in printed


def test_numbers_are_written_for_people() -> None:
    given = (None, 1, 12_345.6, 0.0123456, 99.5)
    assert [number(value) for value in given] == ["-", "1", "12,346", "0.0123", "99.5"]


def test_all_figures_are_printed_but_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--all", "--plot", "a.png"]) == 2
    assert "give its NAME alone" in capsys.readouterr().err
