"""Lines to and from other nodes; one to each node, opened when there is something to send."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from joader.cluster.rank_line import RankLine
from joader.messages.nodes import Knock, Node

# Seconds before an unreachable node is tried again.
AGAIN_S = 0.5
OnMessage = Callable[[RankLine, Any], None]
OnEnd = Callable[[RankLine, str], None]


class Lines:
    """All lines of one purpose, such as ranks or joint draws."""

    def __init__(
        self, node: Node, key: bytes, purpose: str, on_message: OnMessage, on_end: OnEnd
    ) -> None:
        """Start without lines; the callbacks get messages and ends of lines opened here."""
        self._node, self._key, self._purpose = node, key, purpose
        self._on_message, self._on_end = on_message, on_end
        self._lines: dict[str, RankLine] = {}  # by node
        self._accepted: set[RankLine] = set()
        self._not_before: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def to(self, node: Node) -> RankLine | None:
        """Return the line to a node if it is up; otherwise start to open it."""
        line = self._lines.get(node.name)
        if line is not None:
            return line if line.is_up else None
        if self._not_before.get(node.name, 0.0) <= asyncio.get_running_loop().time():
            line = RankLine(node, self._on_message, self._ended, self._purpose)
            self._lines[node.name] = line
            self._keep(line.connect(self._key, self._node))
        return None

    def accept(self, sock: socket.socket, knock: Knock, hear: OnMessage, lost: OnEnd) -> None:
        """Take over a line that another node has opened."""

        def ended(line: RankLine, reason: str) -> None:
            self._accepted.discard(line)
            lost(line, reason)

        line = RankLine(knock.node, hear, ended, self._purpose)
        self._accepted.add(line)
        self._keep(line.accept(sock))

    def close(self) -> None:
        """Close all lines."""
        for line in [*self._lines.values(), *self._accepted]:
            line.close()

    def _ended(self, line: RankLine, reason: str) -> None:
        name = line.node.name
        if self._lines.get(name) is line:
            del self._lines[name]
            self._not_before[name] = asyncio.get_running_loop().time() + AGAIN_S
        self._on_end(line, reason)

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)  # a reference, so that the task is not garbage collected
        task.add_done_callback(self._tasks.discard)
