"""A storage serves so many at a time, over the link of who reads."""

import pytest

from joader.simulator.machine.clock import Clock
from joader.simulator.machine.disk import Disk
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.workload import Storage


def test_a_disk_serves_so_many_at_a_time() -> None:
    clock = Clock()
    link = Resource(clock, lambda users: 1e9 / users)
    disk = Disk(clock, Storage(latency_ms=100.0, mb_per_s=10.0, most=2))
    ends: list[float] = []
    for _ in range(4):
        disk.read(1.0, link, lambda: ends.append(clock.now))
    clock.run(1e9, lambda: False)
    # Two at a time: 0.1 s to find them, and 0.2 s for the bytes of both.
    assert ends == pytest.approx([0.3, 0.3, 0.6, 0.6])


def test_each_node_reads_over_a_link_of_its_own() -> None:
    clock = Clock()
    slow, fast = (Resource(clock, lambda users, mb=mb: mb / users) for mb in (1.0, 100.0))
    disk = Disk(clock, Storage(latency_ms=0.0, mb_per_s=1e9, most=8))
    ends: dict[str, float] = {}
    for name, link in (("slow", slow), ("fast", fast)):
        disk.read(2.0, link, lambda name=name: ends.setdefault(name, clock.now))
    clock.run(1e9, lambda: False)
    assert ends == {"slow": pytest.approx(2.0, rel=1e-3), "fast": pytest.approx(0.02, rel=1e-3)}
