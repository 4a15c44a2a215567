"""What a live daemon was told, told again on paper, gives the same decisions."""

import asyncio
import copy
import threading
from typing import Any

from joader.config import DaemonConfig
from joader.daemon.daemon import Daemon
from joader.daemon.door import Door
from joader.daemon.main import run
from joader.engine import Engine
from joader.messages import Event, Instruction
from joader.schedule.dispatch import Dispatch
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.node import Node as SimulatedNode
from joader.simulator.machine.worker import Hardware
from joader.simulator.machine.workload import MachineSpec
from joader.workers.pool import usual_growth
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read


class Recorded:
    """A `Dispatch` that notes what it is told, and what it decides."""

    def __init__(self, real: Dispatch) -> None:
        self._real = real
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def noted(*args: Any, **named: Any) -> Any:
            result = found(*args, **named)
            # What reports and looks were made of must not change after the call.
            self.calls.append((name, tuple(map(_kept, args)), named, repr(result)))
            return result

        return noted


def _kept(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else copy.copy(value)


def simulated_engine(memory_bytes: int, seed: int) -> Engine:
    """Return the engine of a machine that the simulator plays."""
    hardware = Hardware(Clock(), MachineSpec(cores=2), {})
    return SimulatedNode(hardware, memory_bytes, seed).engine


def test_events_of_a_live_daemon_replay_to_the_same_instructions(node: Node) -> None:
    log: list[tuple[list[Event], str]] = []
    daemons: list[Daemon] = []
    loops: list[asyncio.AbstractEventLoop] = []
    dispatch: dict[int, Recorded] = {}

    def record(events: list[Event], instructions: list[Instruction]) -> None:
        log.append((events, repr(instructions)))

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        door = Door(node.socket)
        daemons.append(Daemon(DaemonConfig(2**20, 2, idle_s=0), record))
        pool = daemons[0].pool
        pool.dispatch = dispatch[0] = Recorded(pool.dispatch)  # type: ignore[assignment]
        await run(door, daemons[0])

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    try:
        wait_until(lambda: node.socket.exists())
        jobs = [
            read(
                node,
                data={"length": 300, "side": 40},
                batch_size=size,
                epochs=2,
                key="k",
                num_workers=1,
            )
            for size in (8, 5, 16)
        ]
        for job in jobs:
            job.result()
        wait_until(lambda: node.status()["jobs"] == [])
    finally:
        loops[0].call_soon_threadsafe(daemons[0].stop.set)
        thread.join()
    assert sum(len(events) for events, _ in log) > 300
    size_bytes, seed = daemons[0].arena.size_bytes, daemons[0].seed
    for replay in (Engine(size_bytes, seed), simulated_engine(size_bytes, seed)):
        for events, instructions in log:
            assert repr(replay.handle(*events)) == instructions
    # One that decides in another way would be noticed.
    other = simulated_engine(size_bytes, seed + 1)
    assert any(repr(other.handle(*events)) != instructions for events, instructions in log)
    on_paper = Dispatch(2, usual_growth(2))
    calls = dispatch[0].calls
    assert sum(name == "reported" for name, *_ in calls) > 30
    for name, args, named, result in calls:
        assert repr(getattr(on_paper, name)(*args, **named)) == result
