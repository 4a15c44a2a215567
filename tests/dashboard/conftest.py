"""A daemon with a dashboard beside it."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.warm import process as warm

READ = """
name, slow_s = sys.argv[1], float(sys.argv[2])
loader = joader.DataLoader(
    Squares(400, slow_s=0.001), batch_size=8, key="squares", job=name, deterministic=True,
    num_workers=1, shuffle=True,
)
for epoch in range(100000):
    for batch in loader:
        time.sleep(slow_s)
"""


class Served:
    """A node and the process of its dashboard."""

    def __init__(self, node: Node, *arguments: str) -> None:
        self.node = node
        self.process = warm.Process(
            [sys.executable, "-m", "joader.dashboard.main", f"--socket={node.socket}", *arguments],
            env={**os.environ, "JOADER_RUNTIME": str(node.run)},
        )
        path = node.run / "dashboard.json"
        wait_until(path.exists)
        self.address = json.loads(path.read_text())
        self.base = f"http://127.0.0.1:{self.address['port']}"
        self.token = self.address["token"]

    @property
    def url(self) -> str:
        return f"{self.base}/?token={self.token}"

    def get(
        self, path: str, token: str | None = None, method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        query = f"?token={token}" if token is not None else ""
        request = Request(f"{self.base}{path}{query}", method=method, headers=headers)
        try:
            with urlopen(request, timeout=20) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    node = Node(tmp_path)
    node.up()
    served = Served(node)
    yield served
    served.close()
    node.down()


@pytest.fixture
def busy(served: Served) -> Served:
    """Return one with four live jobs."""
    for name, slow_s in (("alpha", 0.02), ("beta", 0.02), ("gamma", 0.03), ("delta", 0.05)):
        served.node.job(READ, name, str(slow_s))
    wait_until(lambda: len(served.node.status()["jobs"]) == 4)
    wait_until(lambda: served.node.status()["totals"]["delivered"] > 200)
    wait_until(lambda: json.loads(served.get("/summary.json", served.token)[2])["moments"])
    return served
