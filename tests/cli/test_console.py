"""A reader that goes away is no error, whoever writes."""

import os
import subprocess
from pathlib import Path

import pytest

from joader.cli.console import Console
from tests.cli.command import JOADER, bash
from tests.warm import process as warm


def unread(
    arguments: str, cwd: Path, errors: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    """Run a command whose reader has gone before it begins."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return warm.run(
            [*JOADER.split(), *arguments.split()],
            cwd=cwd,
            stdout=writer,
            stderr=errors if errors == subprocess.PIPE else writer,
            text=True,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    "arguments",
    [
        "reproduce --list",
        "--help",
        "demo --help",
        "reproduce joader-insert --quick --json -",
    ],
)
def test_a_reader_that_goes_away_is_no_error(arguments: str, tmp_path: Path) -> None:
    run = unread(arguments, tmp_path)
    assert run.returncode == 0
    assert "Error" not in run.stderr
    assert "ignored" not in run.stderr


def test_a_reader_that_goes_away_in_a_shell_is_no_error(tmp_path: Path) -> None:
    run = bash(f"{JOADER} reproduce --list 2>errors | true; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert run.stdout == "0\n"
    assert (tmp_path / "errors").read_text() == ""


def test_files_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    run = unread("reproduce joader-insert --quick --json a.json --plot a.png", tmp_path)
    assert run.stderr == ""
    assert (tmp_path / "a.json").exists()
    assert (tmp_path / "a.png").exists()


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT], ids=["heard", "unheard"])
def test_an_error_stays_an_error_though_nobody_reads(errors: int, tmp_path: Path) -> None:
    assert unread("reproduce x", tmp_path, errors).returncode == 2


def test_plain_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = "p[/x].png " + "long" * 100
    Console(width=40).print_plain(text)
    assert capsys.readouterr().out == f"{text}\n"
