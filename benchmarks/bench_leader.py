"""What a cluster's leader costs: many nodes that say how far they are, and come and go.

    python benchmarks/bench_leader.py [--nodes 128] [--seconds 10]

A real leader in a process of its own; nodes are connections of this process that greet, beat and
say their clocks as daemons do (neighbors.py: ten times a second, less often with more than eight
nodes), each of three recipes. One node leaves and one joins every second. With eight learners per
node, 128 nodes are 1,024 learners. The figure is the leader's processor time.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import time
from collections.abc import Mapping

import msgspec
from harness import machine, report

from joader.cluster.address import ByAddress
from joader.cluster.leader import Leader
from joader.cluster.leader_address import Address
from joader.cluster.listener import Listener, listening
from joader.daemon.neighbors import TICK_S
from joader.messages.nodes import Members, Node

KEY = b"k" * 32
RECIPES = 3


def lead(told: "multiprocessing.queues.Queue[float]", seconds: float) -> None:
    async def main() -> None:
        leader = Leader("leader")
        listener = Listener(listening("127.0.0.1", 0), KEY, leader.admit)
        told.put(listener.port)
        while not os.path.exists(f"/tmp/joader-bench-leader-{os.getppid()}"):
            await asyncio.sleep(0.05)
        before = resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.sleep(seconds)
        after = resource.getrusage(resource.RUSAGE_SELF)
        told.put(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    asyncio.run(main())


class Deaf:
    """A node that is told, and does nothing."""

    def __init__(self) -> None:
        self.words = 0

    def members_changed(self, members: Members) -> None:
        self.words += 1

    def said(self, node: str, values: Mapping[str, bytes]) -> None:
        self.words += 1


async def play(port: int, count: int, seconds: float) -> tuple[int, int]:
    nodes: list[tuple[ByAddress, Deaf]] = []
    made = 0

    async def come() -> None:
        nonlocal made
        made += 1
        deaf = Deaf()
        node = Node(f"node{made}", "127.0.0.1", 1, life=made)
        one = ByAddress(Address("127.0.0.1", port), KEY, node, deaf, may_lead=False)
        await one.join()
        nodes.append((one, deaf))

    for start in range(0, count, 16):
        await asyncio.gather(*(come() for _ in range(min(16, count - start))))
    tick_s = TICK_S * max(1.0, count / 8)
    open(f"/tmp/joader-bench-leader-{os.getpid()}", "w").close()
    began, said, changes, head = time.monotonic(), 0, 0, 0
    while (now := time.monotonic() - began) < seconds:
        head += 1
        for number, (one, _) in enumerate(nodes):
            if (now / tick_s + number / len(nodes)) % 1.0 < 0.05 / tick_s:
                clock = msgspec.msgpack.encode((1, ((0, 1, head, 1_281_167),)))
                one.say({f"clock {recipe}": clock for recipe in range(RECIPES)})
                said += 1
        if now > changes + 1:
            changes += 1
            await nodes.pop(0)[0].leave()
            await come()
        await asyncio.sleep(0.05)
    return said, changes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.queues.Queue[float] = context.Queue()
    leader = context.Process(target=lead, args=(told, options.seconds), daemon=True)
    leader.start()
    port = int(told.get(timeout=60))
    said, changes = asyncio.run(play(port, options.nodes, options.seconds))
    used_s = told.get(timeout=60)
    os.unlink(f"/tmp/joader-bench-leader-{os.getpid()}")
    leader.terminate()
    cores = used_s / options.seconds
    print(
        f"{options.nodes} nodes, {said / options.seconds:.0f} words/s, {changes} joins and leaves "
        f"in {options.seconds:g} s: the leader uses {cores:.2f} cores"
    )
    rows: list[dict[str, object]] = [{"nodes": options.nodes, "cores": cores, "words": said}]
    report("leader", machine(), f"{options.seconds:g} s, loopback", rows)


if __name__ == "__main__":
    main()
