"""A reader that goes away is no error, whoever writes."""

from pathlib import Path

import pytest

from joader.cli.console import Console
from tests.cli.command import JOADER, bash


@pytest.mark.parametrize(
    "arguments",
    [
        "reproduce --list",
        "--help",
        "demo --help",
        "reproduce joader-insert --quick",
        "reproduce joader-insert --quick --json -",
    ],
)
def test_a_reader_that_goes_away_is_no_error(arguments: str, tmp_path: Path) -> None:
    run = bash(f"{JOADER} {arguments} 2>errors | true; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert run.stdout == "0\n"
    errors = (tmp_path / "errors").read_text()
    assert "Error" not in errors
    assert "ignored" not in errors


def test_files_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    files = "--json a.json --plot a.png"
    run = bash(f"{JOADER} reproduce joader-insert --quick {files} | true", tmp_path)
    assert run.stderr == ""
    assert (tmp_path / "a.json").exists()
    assert (tmp_path / "a.png").exists()


def test_an_error_stays_an_error_though_nobody_reads(tmp_path: Path) -> None:
    for pipe in ("|", "2>&1 |"):
        run = bash(f"{JOADER} reproduce x {pipe} true; echo ${{PIPESTATUS[0]}}", tmp_path)
        assert run.stdout == "2\n"


def test_plain_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = "p[/x].png " + "long" * 100
    Console(width=40).print_plain(text)
    assert capsys.readouterr().out == f"{text}\n"
