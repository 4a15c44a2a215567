"""One run of a figure: computed, kept and told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from joader.errors import JoaderError
from papers.figure import QUICK, Effort, Figure, Row
from papers.run import Outputs, Run, as_json, compute


def rows(seed: int, effort: Effort, tick: object) -> Iterator[Row]:
    for x in range(2):
        tick()  # type: ignore[operator]
        yield Row("case", x, None, seed + x, None, "rows")


FIGURE = Figure(
    name="made-up",
    source="nobody",
    title="A figure",
    scale=lambda effort: "two rows",
    case_label="",
    x_label="x",
    y_label="y",
    ours="ours",
    baseline="baseline",
    varies="ours",
    rows=rows,
    steps=lambda effort: 2,
    notes=lambda effort: ("a note",),
)


def test_a_run_is_what_the_figure_gives_for_its_seed() -> None:
    run = compute(FIGURE, QUICK, 7)
    assert [row.ours for row in run.rows] == [7, 8]
    assert run.notes == ("a note",)
    assert run.seconds >= 0


def test_programs_get_all_of_it_and_no_notes_where_there_are_none() -> None:
    run = compute(FIGURE, QUICK, 7)
    told = json.loads(as_json(run))
    assert told["name"] == "made-up"
    assert told["notes"] == ["a note"]
    assert told["rows"][1] == {
        "case": "case",
        "x": 1,
        "paper": None,
        "ours": 8,
        "baseline": None,
        "unit": "rows",
    }
    assert "notes" not in json.loads(as_json(Run(FIGURE, QUICK, 7, 0.1, run.rows)))


def test_what_would_fail_after_the_work_fails_before_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for outputs in (
        Outputs(str(tmp_path / "file" / "a.json"), []),
        Outputs(None, [str(tmp_path / "file" / "a.png")]),
        Outputs(None, [str(tmp_path / "a.docx")]),
    ):
        with pytest.raises(JoaderError):
            outputs.check()
    Outputs("-", [str(tmp_path / "a.svg")]).check()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_people_never_read_what_programs_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, outputs = compute(FIGURE, QUICK, 7), Outputs("-", [])
    console = outputs.console()
    console.print_plain("for people")
    outputs.keep(run, console)
    out, err = capsys.readouterr()
    assert json.loads(out)["name"] == "made-up"
    assert err == "for people\n"
    path = tmp_path / "deep" / "kept.json"
    Outputs(str(path), []).keep(run, Outputs(str(path), []).console())
    assert json.loads(path.read_text())["seed"] == 7
    assert "figures: " in capsys.readouterr().out
