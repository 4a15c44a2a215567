"""What a live daemon was told, told again to an engine on paper, gives the same instructions."""

import asyncio
import threading

from joader.config import DaemonConfig
from joader.daemon.daemon import Daemon
from joader.daemon.door import Door
from joader.daemon.main import run
from joader.engine import Engine
from joader.messages import Event, Instruction
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read


def test_events_of_a_live_daemon_replay_to_the_same_instructions(node: Node) -> None:
    log: list[tuple[list[Event], str]] = []
    daemons: list[Daemon] = []
    loops: list[asyncio.AbstractEventLoop] = []

    def record(events: list[Event], instructions: list[Instruction]) -> None:
        log.append((events, repr(instructions)))

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        door = Door(node.socket)
        daemons.append(Daemon(DaemonConfig(2**20, 2, idle_s=0), record))
        await run(door, daemons[0])

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    try:
        wait_until(lambda: node.socket.exists())
        jobs = [
            read(node, data={"length": 300, "side": 40}, batch_size=size, epochs=2, key="k")
            for size in (8, 5, 16)
        ]
        for job in jobs:
            job.result()
        wait_until(lambda: node.status()["jobs"] == [])
    finally:
        loops[0].call_soon_threadsafe(daemons[0].stop.set)
        thread.join()
    assert sum(len(events) for events, _ in log) > 1000
    replay = Engine(daemons[0].arena.size_bytes, daemons[0].seed)
    for events, instructions in log:
        assert repr(replay.handle(*events)) == instructions
