"""What a daemon relies on, whoever says who is there: members, small values, and nothing else.

A *company* tells its *observer* of every change, in the daemon's loop. Values are small and few:
which recipes a node can prepare, how far its streams are. What cannot be reached is not an error:
the company goes on as it was last known, and says so once.

A value whose name begins with LASTING outlives who has said it, as long as the leader does: whoever
comes is told the greatest, before it is told who is there. Of nobody in particular: the node is "".
"""

from collections.abc import Mapping
from typing import Protocol

from joader.cluster.leader_address import Address
from joader.messages.nodes import Members

LASTING = "lasting "


class Observer(Protocol):
    """Who wants to know."""

    def members_changed(self, members: Members) -> None:
        """Take in who is there now, oneself included."""

    def said(self, node: str, values: Mapping[str, bytes]) -> None:
        """Take in what another node says; an empty value is taken back."""


class Company(Protocol):
    """Who says it."""

    @property
    def leads(self) -> bool:
        """Whether this node leads."""

    @property
    def reached(self) -> bool:
        """Whether the leader is reached now."""

    def move(self, address: Address) -> None:
        """Look for the leader elsewhere: whoever keeps one says where it is now."""

    def say(self, values: Mapping[str, bytes]) -> None:
        """Tell all others these values, now and when they come; an empty one is taken back."""

    async def leave(self) -> None:
        """Go, and let others know at once."""
