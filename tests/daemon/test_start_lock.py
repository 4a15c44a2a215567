"""The start lock: one holder at a time, no wait without end, and nothing for children to keep."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from joader.daemon.lifecycle import connect_or_start
from joader.daemon.start_lock import LockHeld, start_lock
from joader.errors import NoDaemon

HOLD = """
import sys, time
from pathlib import Path
from joader.daemon.start_lock import start_lock
with start_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "daemon.sock"


def is_free(place: Path) -> bool:
    try:
        with start_lock(place, 0):
            return True
    except LockHeld:
        return False


def descriptors() -> Iterator[os.stat_result]:
    for number in range(256):
        with suppress(OSError):
            yield os.fstat(number)


def test_it_has_one_holder_at_a_time(place: Path) -> None:
    with start_lock(place):
        assert not is_free(place)
    assert is_free(place)


def test_a_holder_that_is_stopped_is_waited_for_with_a_limit_and_named(place: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        for wait in (start_lock(place, 0.2).__enter__, lambda: connect_or_start(place, 0.2)):
            with pytest.raises(LockHeld, match=f"process {holder.pid} .*may hold it"):
                wait()
        assert time.monotonic() - begun < 10
    finally:
        holder.kill()
        holder.communicate()
    assert is_free(place)


def test_a_child_that_was_forked_meanwhile_does_not_keep_it(place: Path) -> None:
    ready, go = os.pipe()
    with start_lock(place):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(ready, 1)  # until the parent has looked
            os._exit(0)
    os.close(ready)
    assert is_free(place)
    os.close(go)
    os.waitpid(child, 0)


def test_a_child_closes_what_its_parent_holds(place: Path) -> None:
    """So that a holder that is killed leaves nothing, whatever it has forked."""
    with start_lock(place):
        child = os.fork()
        if child == 0:
            held = os.stat(f"{place}.lock")
            os._exit(1 if any(os.path.samestat(held, info) for info in descriptors()) else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not is_free(place)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_lock_that_another_user_made_and_holds_is_refused_at_once(place: Path) -> None:
    lock = Path(f"{place}.lock")
    with lock.open("w") as file:
        lock.chmod(0o666)
        os.chown(lock, 12345, 12345)
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(NoDaemon, match=r"belongs to user 12345.*set JOADER_RUNTIME"):
            connect_or_start(place)


def test_a_folder_that_is_missing_is_named_and_not_its_room(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match=r"the folder .*/gone does not exist; create it, or set"):
        connect_or_start(tmp_path / "gone" / "daemon.sock")
