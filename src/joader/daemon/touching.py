"""Memory that is allocated before it is needed, by a thread of its own."""

import asyncio
import threading
import time

from joader.engine import Engine
from joader.memory import Arena

# How far touched memory is ahead of what is used.
_STEP_BYTES = 256 * 2**20


def touch_ahead(arena: Arena, engine: Engine, stop: asyncio.Event) -> None:
    """Have the kernel allocate the arena in steps, ahead of what is used, until `stop`."""
    thread = threading.Thread(target=_touch, args=(arena, engine, stop), daemon=True)
    thread.start()


def _touch(arena: Arena, engine: Engine, stop: asyncio.Event) -> None:
    # The first use of a page costs; here it costs nobody's batch. Not all at once: memory that is
    # never needed stays free for others.
    touched = 0
    while touched < arena.size_bytes and not stop.is_set():
        wanted = min(engine.reached_bytes + _STEP_BYTES, arena.size_bytes)
        if touched < wanted:
            touched = arena.touch(wanted)
        time.sleep(0.05)
