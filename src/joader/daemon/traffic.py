"""What went between this node and the others, as it is told to them and to people."""

from collections.abc import Callable, Mapping

from joader.daemon.fetching import Fetched
from joader.daemon.guests import Guests
from joader.messages.nodes import Members, Node
from joader.statistics import ClusterStatistics, PeerStatistics

_TOLD = ("prepared", "fetched", "fetched_bytes", "sent", "sent_bytes")


def own_traffic(counts: Fetched, guests: Guests) -> dict[str, int]:
    """Return what a node tells others of itself."""
    sent = (guests.sent_rows, guests.sent_bytes)
    return dict(zip(_TOLD, (counts.prepared, counts.rows, counts.bytes, *sent), strict=True))


def statistics(
    own: Node,
    members: Members,
    *,
    counts: Fetched,
    guests: Guests,
    leader_reached: bool,
    told: Mapping[str, Mapping[str, int]],
    linked: Callable[[str], bool],
    recipes: Callable[[str], int],
) -> ClusterStatistics:
    """Return who is there, and what went between nodes; `told`: by others, of themselves."""
    here = own_traffic(counts, guests)
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
        **here,
        not_sent=counts.not_sent,
        lost=counts.lost,
        compared=counts.compared,
        too_dear=counts.too_dear,
        inherited=counts.inherited,
    )
