"""Digests of the nodes of a graph that may have cycles, independent of the order it was built in.

A node is its label and its children. Outside a ring (a strongly connected component) its digest is
that of its label and its children's digests. The members of a ring are refined together: in each
round each takes in its neighbors, until a round distinguishes no further members; then each takes
in the set of all. Rings that cannot be distinguished by walking them get equal digests, so neither
ids nor the place where a ring is entered matter (numbering objects as they are met would depend on
the order of sets, which changes with the hash seed).
"""

import marshal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

DIGEST_BYTES = 16
# Members of a ring that look alike for 64 steps in every direction count as alike: otherwise a ring
# of n equal links would cost n rounds of n.
MAX_ROUNDS = 64
_INSIDE = bytes(DIGEST_BYTES)  # stands for a child in the same ring before the first round

Scalar: TypeAlias = bool | int | float | complex | str | bytes | None


class Opaque(Exception):
    """Say why an object has no state that could be compared; the walk adds where it is."""


@dataclass(slots=True)
class Part:
    """One object taken apart: what it is by itself, and the objects it leads to by name."""

    label: bytes
    edges: list[tuple[str, Any]] = field(default_factory=list)
    words: str = ""  # for people; not digested
    unordered: bool = False  # a set: its edges count in any order


def label(*fields: Scalar | tuple[Scalar, ...]) -> bytes:
    """Serialize plain values so that different values, or types, never give equal bytes.

    Version 2 of marshal's format has neither references nor flags for interned strings, so equal
    values give equal bytes; both came with version 3.
    """
    return marshal.dumps(fields, 2)


def digest_of(head: bytes, tail: Iterable[bytes] = ()) -> bytes:
    """Digest a head of any length and a tail of digests."""
    return blake2b(
        b"".join([len(head).to_bytes(8, "little"), head, *tail]), digest_size=DIGEST_BYTES
    ).digest()


def digests(parts: Sequence[Part], children: Sequence[Sequence[int]]) -> list[bytes]:
    """Return the digests of a graph; children[i] are the nodes that parts[i] leads to."""
    found = [_INSIDE] * len(parts)

    def taken_in(node: int, head: bytes) -> bytes:
        tail = [found[child] for child in children[node]]
        return digest_of(head, sorted(tail) if parts[node].unordered else tail)

    # Children come before parents, so that their digests are known when a parent needs them.
    for ring in _rings(children):
        now = {node: taken_in(node, parts[node].label) for node in ring}
        if len(ring) > 1 or ring[0] in children[ring[0]]:
            for _ in range(MAX_ROUNDS):
                classes = len(set(now.values()))
                for node in ring:
                    found[node] = now[node]
                now = {node: taken_in(node, found[node]) for node in ring}
                if len(set(now.values())) == classes:
                    break  # a round that splits no class would never be followed by one that does
            # Without the set, a member would not say what is elsewhere in its ring.
            everyone = sorted(set(now.values()))
            now = {node: digest_of(now[node], everyone) for node in ring}
        for node in ring:
            found[node] = now[node]
    return found


def _rings(children: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components, each after those it leads to (Tarjan 1972).

    Without recursion: state may be nested deeper than Python's stack.
    """
    order = [0] * len(children)  # when a node was met, from 1
    lowest = [0] * len(children)  # the earliest node still open that it leads to
    is_open = bytearray(len(children))
    opened: list[int] = []
    met = 0
    for root in range(len(children)):
        if order[root]:
            continue
        todo = [(root, iter(children[root]))]
        while todo:
            node, rest = todo[-1]
            if not order[node]:
                met += 1
                order[node] = lowest[node] = met
                opened.append(node)
                is_open[node] = 1
            for child in rest:
                if not order[child]:
                    todo.append((child, iter(children[child])))
                    break
                if is_open[child]:
                    lowest[node] = min(lowest[node], order[child])
            else:
                todo.pop()
                if todo:
                    parent = todo[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == order[node]:
                    ring: list[int] = []
                    while not ring or ring[-1] != node:
                        ring.append(opened.pop())
                        is_open[ring[-1]] = 0
                    yield ring
