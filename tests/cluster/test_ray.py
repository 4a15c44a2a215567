"""Three raylets on one machine, each with a daemon of its own; `make test-cluster` has Ray."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.jobs import wait_until

ray = pytest.importorskip("ray", reason="Ray is not installed; `make test-cluster` installs it")
from ray.cluster_utils import Cluster  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.short, pytest.mark.filterwarnings("ignore")]
ROWS = 900


class Rows:
    """Row i is made of i, and leaves a line when it is prepared."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> Any:
        import numpy as np

        time.sleep(0.003)
        with Path(self.folder, "prepared").open("a") as file:
            file.write(f"{row}\n")
        return np.full(1000, row % 251, np.uint8), row


def read(folder: str) -> list[int]:
    """Read a pass, as a trial of Ray Tune or a worker of Ray Train does, and check all bytes."""
    import numpy as np

    import joader

    seen: list[int] = []
    with joader.DataLoader(
        Rows(folder), batch_size=16, shuffle=True, deterministic=True, num_workers=1, as_numpy=True
    ) as loader:
        for arrays, rows in loader:
            assert (np.asarray(arrays) == np.asarray(rows)[:, None] % 251).all()
            seen += np.asarray(rows).tolist()
    return seen


class Raylets:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster = Cluster()
        self.nodes: dict[str, Any] = {}
        for name in ("node0", "node1", "node2"):
            (folder / name).mkdir(mode=0o700)
            variables = {"JOADER_RUNTIME": str(folder / name), "JOADER_NODE": name}
            self.nodes[name] = self.cluster.add_node(num_cpus=2, env_vars=variables)
        ray.init(address=self.cluster.address, namespace="test", log_to_driver=False)

    def ask(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "JOADER_RUNTIME": str(self.folder / name)}
        command = [sys.executable, "-m", "joader", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask(name, "status", "--json").stdout)["cluster"]
        return found

    def members(self, name: str) -> list[str]:
        return sorted(node["name"] for node in self.status(name)["nodes"])

    def read_on(self, name: str) -> Any:
        here = NodeAffinitySchedulingStrategy(self.nodes[name].node_id, soft=False)
        return ray.remote(read).options(scheduling_strategy=here).remote(str(self.folder))

    def down(self) -> None:
        for name in self.nodes:
            self.ask(name, "down", "--force")
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture
def raylets(tmp_path: Path) -> Iterator[Raylets]:
    found = Raylets(tmp_path)
    yield found
    found.down()


def test_ray_has_a_daemon_on_every_node_and_its_tasks_share(raylets: Raylets) -> None:
    from joader import cluster

    began = time.monotonic()
    assert sorted(cluster.start(memory="64MiB")) == ["node0", "node1", "node2"]
    assert (
        time.monotonic() - began < 20
    )  # seven seconds here; it says within ten on a quiet machine
    passes = ray.get([raylets.read_on(name) for name in raylets.nodes])
    for seen in passes:
        assert sorted(seen) == list(range(ROWS))
    prepared = (raylets.folder / "prepared").read_text().split()
    # Alone they would prepare 3; they compare 64 rows first, and do not start at the same moment.
    assert len(prepared) < 2.6 * ROWS
    assert sum(raylets.status(name)["fetched"] for name in raylets.nodes) > 300

    leader = ray.get_actor("joader-leader", namespace="joader")
    killed = time.monotonic()
    ray.kill(leader, no_restart=False)
    time.sleep(0.5)
    wait_until(lambda: raylets.status("node1")["leader_reached"])
    assert time.monotonic() - killed < 10

    # A node of Ray is lost: its daemon is a process of its own, and goes on.
    raylets.cluster.remove_node(raylets.nodes["node2"], allow_graceful=False)
    assert raylets.ask("node2", "status").returncode == 0
    seen = ray.get(raylets.read_on("node0"))
    assert sorted(seen) == list(range(ROWS))
    cluster.stop()


DRIVER = """
from joader import cluster
print("on", sorted(cluster.start()))
import ray
ray.init()
@ray.remote
def task():
    print("said in a task", flush=True)
ray.get(task.remote())
import time
time.sleep(2)  # what tasks print comes a moment later
print("namespace", ray.get_runtime_context().namespace)
"""


def test_a_driver_that_starts_joader_first_hears_its_tasks_in_its_own_namespace(
    raylets: Raylets,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        env={**os.environ, "RAY_ADDRESS": raylets.cluster.address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "on ['node0', 'node1', 'node2']" in done.stdout
    assert "said in a task" in done.stdout + done.stderr
    assert "namespace joader" not in done.stdout
