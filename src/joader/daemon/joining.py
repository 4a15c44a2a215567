"""Joins a cluster: puts together what a daemon of one consists of."""

from joader.cluster.leader_address import Address
from joader.cluster.this_node import key_for, this_node
from joader.daemon.fetching import Fetching
from joader.daemon.guests import Guests
from joader.daemon.joint import Joint
from joader.daemon.neighbors import Neighbors
from joader.daemon.ranks import Ranks
from joader.engine import Engine


async def joined(
    address: Address, engine: Engine, fetching: Fetching, guests: Guests, key: bytes = b""
) -> Neighbors:
    """Join the cluster that is led at an address, or raise why not.

    With a key, whoever gave it keeps a leader at that address; else this node leads if it can.
    """
    node, sock = this_node(address, fetching.cores)
    registration, key, led = guests.registration, key or key_for(address), bool(key)
    neighbors = Neighbors(
        node,
        key,
        engine=engine,
        registration=registration,
        fetching=fetching,
        guests=guests,
        ranks=Ranks(node, key, engine=engine, registration=registration, tell=fetching.tell),
        joint=Joint(
            *(node, key),
            engine=engine,
            registration=registration,
            tell=fetching.tell,
            differs=fetching.trust.differs,
        ),
    )
    await neighbors.join(address, sock, may_lead=not led)
    registration.stream_of, registration.on_join = neighbors.stream, neighbors.joined
    return neighbors
