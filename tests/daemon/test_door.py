"""The socket at which clients knock: one daemon has its name, and only a socket is removed."""

import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from joader.daemon.door import Door, most_clients, turn_away
from joader.errors import BadArgument, NoDaemon
from joader.messages import Refuse, ToClient
from joader.wire import Channel


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daemon.sock"


def test_only_the_user_may_knock_and_one_daemon_listens(path: Path) -> None:
    door = Door(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(BadArgument, match="already listens"):
        Door(path)
    door.close()
    assert not path.exists()


def test_the_name_of_a_dead_daemon_is_taken_over(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path))
    Door(path).close()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_socket_is_somebodys_data(path: Path, kind: str) -> None:
    data = path.with_name("data")
    data.write_text("mine")
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(data)
    with pytest.raises((BadArgument, NoDaemon)):
        Door(path)
    assert path.is_symlink() or path.exists()
    assert data.read_text() == "mine"


def test_a_name_that_another_has_taken_meanwhile_stays(path: Path) -> None:
    door = Door(path)
    path.unlink()
    other = Door(path)
    door.close()
    assert path.is_socket()
    other.close()
    assert not path.exists()


def test_where_no_socket_can_be_the_reason_is_given(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="JOADER_RUNTIME"):
        Door(tmp_path / "none" / "daemon.sock")


def test_who_is_turned_away_is_told_why_if_it_listens() -> None:
    ours, theirs = socket.socketpair()
    turn_away(ours, "too many")
    heard: Channel[object] = Channel(theirs, ToClient)
    assert heard.receive(20.0) == Refuse("too many")
    heard.close()
    ours, theirs = socket.socketpair()
    theirs.close()
    turn_away(ours, "nobody hears it")
    assert ours.fileno() == -1


def test_so_many_come_in_as_there_are_descriptors_for() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most_clients(4) >= 8
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    script = """
import resource
from joader.daemon.door import most_clients
from joader.errors import WorldError
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 100))
print(most_clients(1), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
try:
    most_clients(12)
except WorldError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    # Of 100: 32 for the daemon, 6 for a worker, two for each client.
    assert first == "31 100"
    assert "too few for 12 workers" in second
    assert "at least 120 (ulimit -n)" in second
