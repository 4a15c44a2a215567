"""A daemon of another version is known by how it refuses."""

import os
import socket
from pathlib import Path

import pytest

from joader.cli.other_daemon import other_daemon
from joader.errors import Refusal

SAID = "the daemon (joader 0.1.9, process 5) speaks protocol 3, not 14"


def test_its_version_and_process_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "daemon.sock"))
        listener.listen()
        found = other_daemon(Refusal(SAID))
    assert (found.pid, found.version, found.protocol) == (os.getpid(), "0.1.9", 3)
    assert "`joader down` ends it" in str(found)


@pytest.mark.parametrize("said", ["there is no room", SAID])
def test_any_other_refusal_and_one_of_a_daemon_that_has_gone_are_raised(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    with pytest.raises(Refusal, match=said[:10]):
        other_daemon(Refusal(said))
