"""The contract between a daemon and a cluster's membership: members, small values, nothing else.

A *company* tells its *observer* of every change, in the daemon's loop. Values are small and few:
which recipes a node can prepare, how far its streams are. Failing to reach a node or the leader is
not an error: the company keeps the last known state, and logs that once.

A value whose name begins with LASTING outlives its sender, as long as the leader lives: a node that
joins is told the greatest one, before it is told the members. It belongs to no node in particular,
so the node is "".
"""

from collections.abc import Mapping
from typing import Protocol

from joader.cluster.leader_address import Address
from joader.messages.nodes import Members

LASTING = "lasting "


class Observer(Protocol):
    """Gets the changes of a company; `Neighbors` is one."""

    def members_changed(self, members: Members) -> None:
        """Take in the present members, this node included."""

    def said(self, node: str, values: Mapping[str, bytes]) -> None:
        """Take in a value of another node; an empty one is withdrawn."""


class Company(Protocol):
    """Knows the members of a cluster, and passes values between them."""

    @property
    def leads(self) -> bool:
        """Whether this node leads."""

    @property
    def reached(self) -> bool:
        """Whether this node is connected to the leader now."""

    def move(self, address: Address) -> None:
        """Look for the leader at another address, given by what keeps the leader running."""

    def say(self, values: Mapping[str, bytes]) -> None:
        """Send all other nodes these values, now and when they join; an empty one is withdrawn."""

    async def leave(self) -> None:
        """Leave, so that others know at once."""
