"""Joins a cluster: builds and connects the parts that a daemon needs for it."""

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
    """Join the cluster whose leader is at `address`; raise if that fails.

    With a key, whatever gave the key runs a leader at that address; without one, this node leads if
    it can.
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
