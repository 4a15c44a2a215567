"""The harness notices what the scripts are written to show."""

from pathlib import Path

import pytest

from tests.drop_in import harness
from tests.drop_in.harness import Idiom, Run, marked, play

BOTH = 'print("== loader 0 torch\\nrows 1 2 3\\n== loader 1 joader\\nrows 1 2 3", flush=True)\n'


@pytest.fixture
def complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return what is said of a script."""
    monkeypatch.setattr(harness, "LEFT_BEHIND_S", 0.2)
    scripts, folder = tmp_path / "scripts", tmp_path / "folder"
    scripts.mkdir()
    folder.mkdir()

    def of(text: str, **more: object) -> str:
        (scripts / "script.py").write_text(text)
        return play(Idiom("script", scripts=scripts, **more), "fork", folder).complaint()

    return of


def test_loaders_that_print_the_same_are_alike(complaint) -> None:
    assert complaint(BOTH) == ""


def test_a_line_that_differs_is_shown(complaint) -> None:
    said = complaint(BOTH.replace("joader\\nrows 1", "joader\\nrows 0"))
    assert "-rows 1 2 3\n+rows 0 2 3" in said


def test_a_loader_that_printed_nothing_differs(complaint) -> None:
    assert "-rows 1 2 3" in complaint(BOTH.replace("joader\\nrows 1 2 3", "joader"))


def test_a_script_that_fails_with_torch_is_no_measure(complaint) -> None:
    said = complaint(BOTH.replace("rows 1 2 3", "ended by ValueError"))
    assert "the script itself fails with torch" in said


def test_a_script_that_dies_is_told_with_its_errors(complaint) -> None:
    said = complaint(BOTH + "raise SystemExit('no such thing')")
    assert "it ended with code 1" in said
    assert "no such thing" in said


def test_a_script_that_hangs_is_ended(complaint) -> None:
    assert "did not end in time" in complaint(BOTH + "import time; time.sleep(60)", timeout_s=0.5)


def test_a_process_that_is_left_behind_is_named_and_ended(complaint, tmp_path: Path) -> None:
    note = "import os, subprocess\nprocess = subprocess.Popen(['sleep', '60'])\n"
    note += "open('mark', 'w').write(os.environ['JOADER_TEST_MARK'])\n"
    assert "sleep 60" in complaint(BOTH + note)
    assert not marked((tmp_path / "folder" / "mark").read_text())


def test_the_daemon_may_stay_and_is_ended_by_its_pid(complaint, tmp_path: Path) -> None:
    listen = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); "
    listen += "s.listen(); time.sleep(60)"
    text = "import os, subprocess, sys, time\n"
    text += "path = os.environ['JOADER_RUNTIME'] + '/daemon.sock'\n"
    text += f"subprocess.Popen([sys.executable, '-c', {listen!r}, path])\n"
    text += "while not os.path.exists(path): time.sleep(0.01)\n"
    text += "open('mark', 'w').write(os.environ['JOADER_TEST_MARK'])\n"
    assert complaint(BOTH + text) == ""
    assert not marked((tmp_path / "folder" / "mark").read_text())


def test_runs_together_overlap(complaint) -> None:
    text = BOTH + "import os; from loaders import meet; os.environ['SIDE'] = '0'\n"
    text += "meet('here')"
    assert complaint(text, runs=(Run(), Run()), together=True) == ""


@pytest.mark.parametrize("any_order", [True, False])
def test_lines_of_workers_may_come_in_any_order_if_that_is_said(complaint, any_order: bool) -> None:
    text = BOTH.replace("joader\\nrows 1 2 3", "joader\\nb\\na").replace("rows 1 2 3", "a\\nb")
    assert (complaint(text, any_order=any_order) == "") is any_order
