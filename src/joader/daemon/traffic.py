"""Figures of the traffic between this node and the others, for announcements and for people."""

from collections.abc import Callable, Mapping

from joader.daemon.fetching import Fetched
from joader.daemon.guests import Guests
from joader.messages.nodes import Members, Node
from joader.statistics import CacheStatistics, ClusterStatistics, PeerStatistics, of_all_nodes

_MOVED = ("prepared", "fetched", "fetched_bytes", "sent", "sent_bytes")
_TOLD = (*_MOVED, "delivered", "used_bytes", "budget_bytes")


def own_traffic(
    counts: Fetched, guests: Guests, memory: CacheStatistics, delivered: int
) -> dict[str, int]:
    """Return this node's figures to announce; `delivered` counts samples to its jobs."""
    return {
        "delivered": delivered,
        "prepared": counts.prepared,
        "fetched": counts.rows,
        "fetched_bytes": counts.bytes,
        "sent": guests.sent_rows,
        "sent_bytes": guests.sent_bytes,
        "used_bytes": memory.used_bytes,
        "budget_bytes": memory.budget_bytes,
    }


def statistics(
    own: Node,
    members: Members,
    *,
    counts: Fetched,
    guests: Guests,
    memory: CacheStatistics,
    delivered: int,
    leader_reached: bool,
    told: Mapping[str, Mapping[str, int]],
    linked: Callable[[str], bool],
    recipes: Callable[[str], int],
) -> ClusterStatistics:
    """Return all nodes and the traffic between them; `told` are announcements of others."""
    here = own_traffic(counts, guests, memory, delivered)
    peers = []
    for node in members.nodes:
        said = here if node.name == own.name else told.get(node.name, {})
        peers.append(
            PeerStatistics(
                name=node.name,
                host=node.host,
                port=node.port,
                cores=node.cores,
                here=node.name == own.name,
                linked=linked(node.name),
                recipes=recipes(node.name),
                **{name: said.get(name, 0) for name in _TOLD},
            )
        )
    return ClusterStatistics(
        name=own.name,
        leader=members.leader,
        leader_reached=leader_reached,
        version=members.version,
        nodes=tuple(peers),
        **{name: here[name] for name in _MOVED},
        not_sent=counts.not_sent,
        lost=counts.lost,
        compared=counts.compared,
        too_dear=counts.too_dear,
        inherited=counts.inherited,
        totals=of_all_nodes(peers),
    )
