"""Files are found impossible before the work, and nothing is left by looking."""

import os
from pathlib import Path

import pytest

from joader.cli.files import check_writable, write_text
from joader.errors import BadArgument


def test_looking_makes_the_folder_and_leaves_no_file(tmp_path: Path) -> None:
    check_writable(str(tmp_path / "deep/er/a.json"))
    assert list((tmp_path / "deep/er").iterdir()) == []


def test_looking_keeps_what_a_file_holds(tmp_path: Path) -> None:
    kept = tmp_path / "a.json"
    kept.write_text("before")
    check_writable(str(kept))
    assert kept.read_text() == "before"


def test_looking_at_a_pipe_does_not_wait_for_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_writable(str(tmp_path / "pipe"))
    check_writable("/dev/null")


@pytest.mark.parametrize("path", ["/proc/x.json", "/proc/deep/x.json", ".", ""])
def test_what_cannot_be_written_is_named(path: str) -> None:
    for call in (check_writable, lambda path: write_text(path, "text")):
        with pytest.raises(BadArgument, match=f"cannot write '{path}': .*; choose another file"):
            call(path)
