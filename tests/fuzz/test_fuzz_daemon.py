"""Clients that say anything at all to a real daemon, while a neighbour trains.

Some say they are nurseries or workers. After each: the daemon answers. After all: the neighbour has
read every row once a pass, and nothing of the others is left, no descriptor, no byte in use.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.client import Client
from tests.fuzz.talk import Step, steps
from tests.processes.conftest import Node
from tests.processes.jobs import Job, wait_until

NEIGHBOUR = """
loader = joader.DataLoader(Squares(200), batch_size=8, shuffle=True, key="neighbours")
passes = 0
while passes < 2 or not os.path.exists("enough"):
    rows = []
    for batch in loader:
        rows += check(batch)
        time.sleep(0.002)
    assert sorted(rows) == list(range(200)), rows
    passes += 1
    if passes == 1:
        say("reads")
say(passes)
loader.close()
"""


class Siege:
    """A daemon, its neighbour, and how large the daemon was when they were alone."""

    def __init__(self, node: Node) -> None:
        self.node = node
        node.up("16MiB")
        assert node.daemon is not None
        self.pid = node.daemon.pid
        self.neighbour: Job = node.job(NEIGHBOUR)
        self.neighbour.line()
        self.descriptors = self.open_descriptors()

    def open_descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def rss_bytes(self) -> int:
        """Return what the daemon takes beside the arena."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no RssAnon")

    def attack(self, talks: list[list[Step]]) -> None:
        clients = [Client(self.node.socket) for _ in talks]
        threads = [
            threading.Thread(target=client.do, args=(talk,), daemon=True)
            for client, talk in zip(clients, talks, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "the daemon does not listen"
        for client in clients:
            client.close()
        assert self.node.status()["pid"] == self.pid, self.node.log()

    def end(self) -> None:
        """See that nothing of the attackers is left."""
        node = self.node
        wait_until(lambda: len(node.status()["jobs"]) == 1)
        (node.folder / "enough").touch()
        passes = self.neighbour.result()[-1]
        assert node.status()["totals"]["delivered"] >= 200 * passes  # from this daemon, all of it
        wait_until(lambda: node.status()["jobs"] == [])
        wait_until(lambda: node.status()["memory"]["pinned_bytes"] == 0)
        # One more for the connection that asks; the neighbour's are gone.
        wait_until(lambda: self.open_descriptors() <= self.descriptors)
        wait_until(lambda: node.workers() == [])


@pytest.fixture
def siege(tmp_path: Path) -> Iterator[Siege]:
    node = Node(tmp_path)
    siege = Siege(node)
    try:
        yield siege
        siege.end()
    finally:
        node.down()


def fuzz(siege: Siege, examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(steps(), min_size=2, max_size=3))
    def attacks(talks: list[list[Step]]) -> None:
        siege.attack(talks)

    attacks()


def test_no_frame_however_mangled_harms_the_daemon_or_a_neighbour(siege: Siege) -> None:
    fuzz(siege, 20)
    before = siege.rss_bytes()
    fuzz(siege, 50)
    assert siege.rss_bytes() < before + 32 * 2**20


@pytest.mark.slow
def test_nor_do_many_thousands(siege: Siege) -> None:
    fuzz(siege, 100)
    before = siege.rss_bytes()
    fuzz(siege, 1500)
    assert siege.rss_bytes() < before + 32 * 2**20
