"""What is left in a runtime folder is found, and what stands in the way there."""

import socket
import threading
from pathlib import Path

import pytest

from joader.cli.doctor import folder
from joader.cli.doctor.finding import Finding


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_the_socket_of_a_daemon_that_was_killed_and_a_file_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "daemon.sock"))
    found = by_name(list(folder.daemon()))
    assert found["leftovers"].level == "ok"
    (tmp_path / "daemon.sock").unlink()
    (tmp_path / "daemon.sock").write_text("data")
    assert by_name(list(folder.daemon()))["leftovers"].level == "bad"


def test_errors_in_the_log_are_pointed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    (tmp_path / "daemon.log").write_text("2026 INFO fine\n2026-01-01 ERROR a bug in joader\n")
    found = by_name(list(folder.daemon()))
    assert found["log"].level == "warn"
    assert "a bug in joader" in found["log"].found


def test_a_folder_that_takes_a_socket_is_good_and_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    (found,) = folder.folder()
    assert (found.name, found.level) == ("runtime folder", "ok")
    assert list(tmp_path.iterdir()) == []
    assert by_name(list(folder.daemon()))["daemon"].level == "ok"  # none runs


def test_what_answers_there_and_is_no_daemon_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "daemon.sock"))
        sock.listen()

        def answer() -> None:
            one, _ = sock.accept()
            with one:
                one.sendall(b"\xff" * 64)
                one.recv(4096)

        thread = threading.Thread(target=answer)
        thread.start()
        found = by_name(list(folder.daemon()))
        thread.join()
    assert {finding.level for finding in found.values()} & {"bad"}
