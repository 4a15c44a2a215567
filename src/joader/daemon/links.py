"""The connections by which this node fetches from others: one per node, opened on demand."""

import asyncio
import logging
from collections.abc import Callable

from joader.cluster.byte_link import Arrival, ByteLink
from joader.memory import Arena
from joader.messages.nodes import Held, Node

log = logging.getLogger("joader.cluster")

# Seconds before an unreachable node is tried again.
AGAIN_S = 1.0


class Links:
    """All links, by the name of the node."""

    def __init__(
        self,
        node: Node,
        key: bytes,
        arena: Arena,
        *,
        find: Callable[[str], Node | None],
        on_up: Callable[[], None],
        on_arrival: Callable[[ByteLink, Arrival], None],
        on_held: Callable[[str, Held], None],
        on_end: Callable[[ByteLink], None],
    ) -> None:
        """Start without links; `find` returns the node of a name."""
        self._node, self._key, self._arena, self._find = node, key, arena, find
        self._on_up, self._on_arrival = on_up, on_arrival
        self._on_held, self._on_end = on_held, on_end
        self._links: dict[str, ByteLink] = {}
        self._not_before: dict[str, float] = {}  # when an unreachable node is tried again

    def to(self, name: str) -> ByteLink | None:
        """Return the link to a node if it is up; otherwise start to open it."""
        if name in self._links:
            return self.up(name)
        node = self._find(name) if name != self._node.name else None
        now = asyncio.get_running_loop().time()
        if node is not None and self._not_before.get(name, 0.0) <= now:
            self._links[name] = ByteLink(
                node,
                self._key,
                self._node,
                self._arena,
                on_up=lambda _: self._on_up(),
                on_arrival=self._on_arrival,
                on_end=self._ended,
                on_held=lambda link, held: self._on_held(link.node.name, held),
            )
        return None

    def up(self, name: str) -> ByteLink | None:
        """Return the link to a node if it is up, without opening it."""
        link = self._links.get(name)
        return link if link is not None and link.is_up else None

    def beat(self) -> None:
        """Open a link to all other nodes, so that they notice this one."""
        for link in self._links.values():
            if link.is_up:
                link.beat()

    def forget(self, name: str) -> None:
        """Close the link to a node that is gone; a new node of its name is tried at once."""
        self._not_before.pop(name, None)
        if name in self._links:
            self._links[name].close()

    def close(self) -> None:
        """Close all links."""
        for link in self._links.values():
            link.close()

    def _ended(self, link: ByteLink, reason: str) -> None:
        name = link.node.name
        if self._links.get(name) is link:
            del self._links[name]
            self._not_before[name] = asyncio.get_running_loop().time() + AGAIN_S
        log.info("node %s cannot be reached any more: %s", name, reason)
        self._on_end(link)
