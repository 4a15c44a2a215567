"""No room, no rights, other people's things in the way: real folders, and messages that help."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from joader.config import runtime_folder
from joader.errors import NoDaemon
from tests.processes.conftest import Node, processes_with
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read
from tests.warm import process as warm

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can do that")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
LOOK = "from joader.client.reading.connection import Connection; print(Connection().daemon_pid)"


def run(code: str, *before: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process, through these commands; a daemon it starts ends soon."""
    return warm.run(
        [*before, sys.executable, "-c", code],
        env={**os.environ, "JOADER_IDLE_S": "0.2", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def daemon(node: Node, *arguments: str, before: str = "") -> str:
    """Start a daemon that must not come up, and return what it says."""
    command = f"{before} exec {sys.executable} -m joader.daemon.main --socket={node.socket} "
    result = subprocess.run(
        ["sh", "-c", command + " ".join(arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    return result.stderr


def room_left(folder: Path) -> int:
    return os.statvfs(folder).f_bavail


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder that others can reach."""
    folder = Path("/tmp") / f"joader-env-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    wait_until(lambda: not processes_with(str(folder)))
    shutil.rmtree(folder)


# In the way of the socket.


def test_a_file_in_place_of_the_socket_is_left_alone(node: Node) -> None:
    node.socket.write_text("my thesis")
    result = run(LOOK, JOADER_RUNTIME=str(node.run))
    assert "is not a socket; remove it, or set JOADER_ADDRESS" in result.stderr
    assert node.socket.read_text() == "my thesis"


def test_a_folder_in_place_of_the_socket_is_left_alone(node: Node) -> None:
    (node.socket / "deep").mkdir(parents=True)
    assert "is not a socket" in run(LOOK, JOADER_RUNTIME=str(node.run)).stderr
    assert (node.socket / "deep").is_dir()


def test_a_link_in_place_of_the_socket_is_left_alone(node: Node) -> None:
    node.socket.symlink_to("/etc/hostname")
    assert "is not a socket" in run(LOOK, JOADER_RUNTIME=str(node.run)).stderr
    assert node.socket.is_symlink()


def test_the_socket_of_a_dead_daemon_is_in_nobodys_way(node: Node) -> None:
    node.up()
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None
    assert node.socket.is_socket()
    result = run(LOOK, JOADER_RUNTIME=str(node.run))
    assert result.returncode == 0, result.stderr
    wait_until(lambda: not processes_with(str(node.run)))


def test_a_socket_that_was_bound_and_not_listened_to_is_taken_over(node: Node) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(node.socket))
        result = run(LOOK, JOADER_RUNTIME=str(node.run))
    assert result.returncode == 0, result.stderr


# The folder.


@needs_root
def test_a_folder_that_cannot_be_written_is_named(place: Path) -> None:
    """A folder that is there but read-only: as on a cluster's system disk."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=0700", "tmpfs", place], check=True)
    try:
        result = run(LOOK, JOADER_RUNTIME=str(place))
    finally:
        subprocess.run(["umount", place], check=True)
    assert "NoDaemon: cannot reach or start a daemon at" in result.stderr
    assert "Read-only file system" in result.stderr
    assert (
        "or set JOADER_RUNTIME (or the address, if you gave one) to another folder" in result.stderr
    )


@needs_root
def test_a_folder_that_cannot_be_made_is_named(place: Path) -> None:
    result = run(LOOK, *NOBODY, JOADER_RUNTIME=str(place / "mine"))
    if "No module named" in result.stderr or "can't open" in result.stderr:
        pytest.skip("others cannot run this interpreter")
    assert "mine, the folder for the daemon's socket: " in result.stderr


@needs_root
def test_no_room_for_a_lock_is_said(place: Path) -> None:
    options = "size=4k,nr_inodes=1,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        result = run(LOOK, JOADER_RUNTIME=str(place))
    finally:
        subprocess.run(["umount", place], check=True)
    assert "No space left on device" in result.stderr
    assert "check its permissions and free space" in result.stderr


@needs_root
def test_no_room_for_a_log_is_no_reason_not_to_serve(node: Node) -> None:
    options = "size=8k,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", node.run], check=True)
    try:
        with (node.run / "full").open("wb", buffering=0) as file:
            while room_left(node.run):
                file.write(b"x" * 4096)
        node.up()
        assert sorted(read(node, data={"length": 50}, batch_size=8).result()[1]) == list(range(50))
        assert node.status()["jobs"] == []
        assert node.daemon is not None
        node.daemon.terminate()
        node.daemon.wait(20)
        node.daemon = None
        assert not node.socket.exists()
    finally:
        subprocess.run(["umount", node.run], check=True)


def test_others_must_not_be_able_to_write_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("JOADER_RUNTIME", str(folder))
    with pytest.raises(NoDaemon, match=r"can be written by others \(mode 0777\); set JOADER_RUNT"):
        runtime_folder()
    folder.chmod(0o755)
    assert runtime_folder() == folder


def test_a_link_where_anybody_may_put_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for /tmp/joader-UID, which another user may have made before us."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "joader").symlink_to(tmp_path / "home")
    monkeypatch.delenv("JOADER_RUNTIME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(NoDaemon, match="is a symbolic link; set JOADER_RUNTIME"):
        runtime_folder()


@needs_root
def test_the_folder_of_another_user_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(place, 65534, 65534)
    monkeypatch.setenv("JOADER_RUNTIME", str(place))
    with pytest.raises(NoDaemon, match="belongs to another user; set JOADER_RUNTIME"):
        runtime_folder()


def test_a_socket_path_that_is_too_long_says_what_to_do() -> None:
    result = run(LOOK, JOADER_RUNTIME="/tmp/" + "x" * 120)
    assert "is too long (at most 107 bytes); set JOADER_RUNTIME" in result.stderr
    Path("/tmp/" + "x" * 120).rmdir()


# Memory and other limits.


@needs_root
def test_a_container_with_little_shared_memory_is_no_matter(node: Node) -> None:
    """As `docker run` gives it: 64 MB of /dev/shm."""
    script = f"""
mount -t tmpfs -o size=64m tmpfs /dev/shm &&
exec {sys.executable} -m joader.daemon.main --socket={node.socket} --memory=256MiB --workers=1
"""
    with (node.run / "daemon.log").open("wb") as log:
        node.daemon = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stderr=log)
    wait_until(node.listens)
    job = node.job(
        """
loader = joader.DataLoader(Squares(100, side=1024), batch_size=8, shuffle=True, deterministic=True)
for _ in range(2):
    rows = [row for batch in loader for row in check(batch)]
loader.stats()
say(sorted(rows))
sys.stdin.readline()
loader.close()
"""
    )
    assert job.line() == list(range(100))
    assert node.status()["memory"]["used_bytes"] > 90 * 2**20
    job.say("end")
    job.result()


def test_a_budget_that_is_not_there_is_refused_at_the_start(node: Node) -> None:
    said = daemon(node, "--memory=900TiB")
    assert "bytes of memory are more than the" in said
    assert "give less with --memory" in said


def test_a_limit_on_memory_or_files_is_said_at_the_start(node: Node) -> None:
    assert "cannot map" in daemon(node, "--memory=4GiB", before="ulimit -v 4000000;")
    assert "of shared memory: [Errno 27]" in daemon(node, "--memory=4GiB", before="ulimit -f 1000;")


def test_too_few_descriptors_are_said_at_the_start(node: Node) -> None:
    said = daemon(node, "--memory=4MiB", "--workers=4", before="ulimit -n 40;")
    assert "40 file descriptors are too few for 4 workers and their clients; allow at least" in said


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--memory=lots", "'lots' is not a size; write 8GiB"),
        ("--memory=-4GiB", "is not a size"),
        ("--workers=0", "--workers=0 is too few: use 1 or more"),
        ("--workers=-3", "--workers=-3 is too few: use 1 or more"),
        ("--threads-per-worker=2", "unrecognized arguments: --threads-per-worker=2"),
        ("--idle=-1", "--idle=-1.0; give seconds, 0 for a daemon that stays"),
    ],
)
def test_nonsense_is_named(node: Node, argument: str, says: str) -> None:
    assert says in daemon(node, argument)


def test_an_idle_time_that_is_none_reaches_the_job_that_started_the_daemon(node: Node) -> None:
    result = run(LOOK, JOADER_RUNTIME=str(node.run), JOADER_IDLE_S="soon")
    assert "JOADER_IDLE_S is 'soon'; give seconds" in result.stderr
    assert "NoDaemon: cannot start a daemon" in result.stderr


def test_scripts_started_at_once_get_one_daemon(node: Node) -> None:
    processes = [
        warm.Process(
            [sys.executable, "-c", LOOK],
            env={**os.environ, "JOADER_RUNTIME": str(node.run), "JOADER_IDLE_S": "1"},
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=60)[0] for process in processes}) == 1
