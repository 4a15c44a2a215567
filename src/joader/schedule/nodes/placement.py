"""Where a row lives: on the same node for every job, and nearly always when nodes join or leave.

Rendezvous hashing: every node draws a number for every row, and the highest wins. A node that joins
takes rows for itself alone; a node that leaves gives away only its own. So one of n equal nodes
moves about 1/n of the rows, and no more.

JOADER hashes twice (appendix E.4): over all nodes and, if the job does not run on that one, over
the job's own. With the highest number both are one step: the winner of all nodes, if it is able, is
also the winner of those that are able. So two jobs on different nodes agree on every row whose
winner runs both.

A node is weighted by its cores. Numbers are then compared by their logarithm, in floating point:
two machines could disagree on one row in about 2**50, which would be prepared twice.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument

_BLOCK = 1 << 14  # rows whose numbers fit into the nearest cache
# The mixing steps of splitmix64: every bit of the row reaches every bit of the number.
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@dataclass(frozen=True)
class Node:
    """A machine: its unique name, and its cores, by which rows are shared out."""

    name: str
    cores: int = 1


def homes(
    rows: ArrayLike,
    cluster: Sequence[Node],
    able: Collection[str] | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Return for each row the place in `cluster` of the node where it lives.

    `able` names the nodes that can prepare the recipe, and on which the job runs; None is all.
    """
    _check(cluster, able)
    wanted = np.asarray(rows, np.uint64)
    candidates = [at for at, node in enumerate(cluster) if able is None or node.name in able]
    keys = {at: _key(cluster[at].name, seed) for at in candidates}
    weighted = len({cluster[at].cores for at in candidates}) > 1
    found = np.empty(wanted.size, np.int64)
    for start in range(0, wanted.size, _BLOCK):
        block = wanted[start : start + _BLOCK]
        best: NDArray[np.uint64] | NDArray[np.float64] | None = None
        winner = np.full(block.size, candidates[0], np.int64)
        for at in candidates:
            words = _words(block, keys[at])
            score = _log(words) / cluster[at].cores if weighted else words
            if best is None:
                best = score
                continue
            higher = score > best
            best = np.maximum(best, score)
            winner[higher] = at
        found[start : start + block.size] = winner
    return found


def _words(rows: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Return the number that the node with this key draws for each row."""
    words = rows * np.uint64(0x9E3779B97F4A7C15) + key
    for shift, factor in _STEPS:
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    return np.asarray(words ^ (words >> np.uint64(31)), np.uint64)


def _log(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return ln(u), u in (0, 1): divided by a weight, its maximum falls to nodes by weight."""
    return np.asarray(np.log((words.astype(np.float64) + 0.5) * 2.0**-64), np.float64)


def _key(name: str, seed: int) -> np.uint64:
    digest = blake2b(repr((seed, name)).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "big"))


def _check(cluster: Sequence[Node], able: Collection[str] | None) -> None:
    names = [node.name for node in cluster]
    if len(set(names)) < len(names):
        raise BadArgument(f"two nodes have one name: {sorted(names)}; names must differ")
    for node in cluster:
        if node.cores < 1:
            raise BadArgument(f"node {node.name!r} has {node.cores} cores; use 1 or more")
    unknown = set(able or ()) - set(names)
    if unknown:
        raise BadArgument(f"no node is named {sorted(unknown)}; the nodes are {sorted(names)}")
    if not names or (able is not None and not able):
        raise BadArgument("no node can hold these rows; name at least one that is able")
