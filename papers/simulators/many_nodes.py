"""One job over many nodes, step by step: what each node reads, is sent and prepares, and how long.

Rows are drawn by the sampler that jobs draw by, and live, move and are kept where `schedule.nodes`
says: a cluster would do the same with them. Only time is modeled here: rates of storage, link and
cores turn rows into seconds. As in the locality paper reading and preparing are *added*, nodes read
at the same time from one storage, and loading overlaps with training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from joader.sampling import StreamSampler
from joader.schedule.nodes.assignment import NOBODY, assign, even_quotas
from joader.schedule.nodes.placement import Node, homes
from papers.simulators.populating import holders

Counts = NDArray[np.int64]
# regular: every learner reads its slice from storage. cached: nodes keep disjoint parts of the rows
# and send each other what their slices need. local: learners train on what their node has.
Loader = Literal["regular", "cached", "local"]


@dataclass(frozen=True)
class Rates:
    """Rows per second: storage for all nodes together, the rest of one node."""

    storage: float
    preparing: float
    link: float = inf
    training: float = inf


@dataclass(frozen=True)
class Cluster:
    """So many equal nodes, and which share of the rows they have room for together."""

    nodes: int
    batch: int  # of a node, all its learners together
    room: float = 1.0


@dataclass(frozen=True)
class Pass:
    """What each node did in one pass, in rows."""

    read: Counts
    received: Counts
    sent: Counts
    prepared: Counts

    def loading_s(self, rates: Rates) -> float:
        """Return how long loading takes if nodes meet at the end of the pass alone."""
        moving = np.maximum(self.received, self.sent) / rates.link
        of_a_node = moving + self.prepared / rates.preparing
        return float(self.read.sum() / rates.storage + of_a_node.max())

    def training_s(self, rates: Rates) -> float:
        """Return how long the learners compute: local batches are equal, so all take as long."""
        return float(self.prepared.max() / rates.training)

    def epoch_s(self, rates: Rates) -> float:
        """Return how long the pass takes: loading goes on while learners compute."""
        return max(self.loading_s(rates), self.training_s(rates))

    def waiting_s(self, rates: Rates) -> float:
        """Return for how long learners wait for data."""
        return self.epoch_s(rates) - self.training_s(rates)

    @property
    def moved(self) -> float:
        """Which part of the rows went from one node to another."""
        return float(self.received.sum() / self.prepared.sum())


def one_pass(loader: Loader, rows: int, cluster: Cluster, seed: int = 0) -> Pass:
    """Let all nodes read a pass of the rows together."""
    nodes = cluster.nodes
    kept = np.full(rows, NOBODY)
    if loader != "regular":
        live = _homes(rows, nodes, seed)
        # Homes are uneven by chance: as in the paper all rows fit if there is room for all.
        each = rows if cluster.room >= 1 else int(cluster.room * rows / nodes)
        kept = holders(live, [each] * nodes)
    read, received, sent, prepared = (np.zeros(nodes, np.int64) for _ in range(4))
    for batch in global_batches(rows, nodes * cluster.batch, seed):
        holder = kept[batch]
        held = np.bincount(holder[holder >= 0], minlength=nodes)
        quotas = even_quotas(held, batch.size)
        if loader == "local":
            trainer = assign(holder, quotas).trainer
        else:  # slices of the batch, whoever has the rows
            trainer = np.repeat(np.arange(nodes), quotas)
        moves = (holder != trainer) & (holder != NOBODY)
        read += np.bincount(trainer[holder == NOBODY], minlength=nodes)
        received += np.bincount(trainer[moves], minlength=nodes)
        sent += np.bincount(holder[moves], minlength=nodes)
        prepared += np.bincount(trainer, minlength=nodes)
    return Pass(read, received, sent, prepared)


def global_batches(rows: int, size: int, seed: int) -> Iterator[Counts]:
    """Yield the batches of one pass, drawn as a job draws them."""
    sampler = StreamSampler(seed)
    sampler.add("job", np.arange(rows))
    while left := sampler.remaining("job"):
        yield sampler.draw({"job": min(size, left)})["job"]


@lru_cache(maxsize=1)  # loaders are compared on the same nodes
def _homes(rows: int, nodes: int, seed: int) -> Counts:
    return homes(np.arange(rows), [Node(f"node-{number}") for number in range(nodes)], seed=seed)
