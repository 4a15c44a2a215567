"""`joader up --cluster`: what a person is told, in good time."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.nodes import KEY, Nodes
from tests.warm import process as warm


def up(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "JOADER_RUNTIME": str(folder / "up"),
        "XDG_CONFIG_HOME": str(folder),
    }
    environment.pop("JOADER_CLUSTER_KEY", None)
    return warm.run(
        [sys.executable, "-m", "joader", "up", "-d", "--no-dashboard", "--memory=16MiB", *words],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere.invalid:27117", "no machine is named 'nowhere.invalid' here"),
        ("127.0.0.1:99999", "is not an address; write HOST:PORT"),
        ("", "--cluster= is not an address; write HOST:PORT"),
        ("auto", "needs the variables of Slurm"),
    ],
)
def test_a_wrong_address_is_told_at_once(tmp_path: Path, address: str, said: str) -> None:
    told = up(tmp_path, f"--cluster={address}")
    assert told.returncode
    assert said in told.stderr


def test_without_a_key_it_says_where_to_get_one(tmp_path: Path) -> None:
    told = up(tmp_path, "--cluster=192.0.2.77:27117")  # an address of documents: of nobody
    assert told.returncode
    assert "copy that file from the node that leads" in told.stderr


@pytest.mark.slow
def test_who_comes_without_a_key_where_somebody_leads_makes_none(
    nodes: Nodes, tmp_path: Path
) -> None:
    nodes.up("a")
    told = up(tmp_path, f"--cluster={nodes.address}")
    assert told.returncode
    assert "copy that file from the node that leads" in told.stderr
    assert not (tmp_path / "joader").exists()


@pytest.mark.slow
def test_a_key_that_others_can_read_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "joader" / "cluster.key"
    path.parent.mkdir()
    path.write_text(KEY)
    path.chmod(0o644)
    told = up(tmp_path, "--cluster=127.0.0.1:27117")
    assert told.returncode
    assert f"run: chmod 600 {path}" in told.stderr
    assert (path.read_text(), path.stat().st_mode & 0o777) == (KEY, 0o644)


@pytest.mark.slow
def test_another_version_of_joader_is_told(nodes: Nodes, tmp_path: Path) -> None:
    nodes.up("a")
    # Read by Python before anything else.
    (tmp_path / "sitecustomize.py").write_text(
        "import joader.version\njoader.version.__version__ = '99.1'\n"
    )
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    began = time.monotonic()
    told = subprocess.run(
        [
            *(sys.executable, "-m", "joader", "up", "-d", "--no-dashboard", "--memory=16MiB"),
            f"--cluster={nodes.address}",
        ],
        env={**nodes.environment("b"), "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert time.monotonic() - began < 10
    assert told.returncode
    assert "node b runs joader 99.1 on Python" in told.stderr
    assert "need the same versions" in told.stderr
    assert nodes.members("a") == ["a"]


@pytest.mark.slow
def test_an_address_where_nobody_leads_and_a_wrong_key_are_told_within_ten_seconds(
    nodes: Nodes, tmp_path: Path
) -> None:
    began = time.monotonic()
    told = up(tmp_path, "--cluster=192.0.2.77:27117", JOADER_CLUSTER_KEY=KEY)
    assert "no joader daemon leads a cluster at 192.0.2.77:27117" in told.stderr
    assert time.monotonic() - began < 12  # ten, but for the start of Python on a busy machine
    nodes.up("a")
    began = time.monotonic()
    told = up(tmp_path, f"--cluster={nodes.address}", JOADER_CLUSTER_KEY="another key " * 3)
    assert "has another cluster key" in told.stderr
    assert time.monotonic() - began < 10


def test_ray_that_is_not_installed_is_told(tmp_path: Path) -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        told = up(tmp_path, "--ray")
        assert told.returncode
        assert "pip install '.[ray]'" in told.stderr
    else:
        pytest.skip("Ray is installed here")


def test_ray_that_is_not_there_is_told_within_ten_seconds(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as mute, socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        for address, said in (
            (f"127.0.0.1:{mute.getsockname()[1]}", "timed out"),  # it accepts, and says nothing
            (f"127.0.0.1:{port}", "refused"),
            ("nowhere.invalid:6379", "nowhere.invalid:6379: "),
        ):
            began = time.monotonic()
            told = up(tmp_path, f"--ray={address}")
            assert told.returncode
            assert f"cannot reach Ray at {address}: " in told.stderr
            assert said in told.stderr
            assert time.monotonic() - began < 10


def wait(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "joader", "up", "--wait", *words],
        env={**os.environ, "JOADER_RUNTIME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_who_waits_is_told_when_the_node_and_its_cluster_are_ready(nodes: Nodes) -> None:
    nodes.up("a")
    waiting = subprocess.Popen(
        [sys.executable, "-m", "joader", "up", "--wait", "30", "--nodes", "2"],
        env=nodes.environment("b"),
        stdout=subprocess.PIPE,
        text=True,
    )
    told = wait(nodes.run("a"), "0.3", "--nodes", "2")
    assert told.returncode
    assert "1 node of 2 in its cluster" in told.stderr
    nodes.up("b")
    said, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    assert "ready at" in said
    assert "2 nodes in its cluster" in said


def test_who_waits_for_no_daemon_is_told_what_to_do(tmp_path: Path) -> None:
    told = wait(tmp_path / "none", "0.2")
    assert told.returncode
    assert "not ready after 0.2 s" in told.stderr
    assert "joader up -d" in told.stderr
