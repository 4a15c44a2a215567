"""Memory shares: every job has one, and takes more only while no other job is owed it.

A share is a batch in hand and one in preparation. What a job has beyond it is given back, the
farthest first, when another within its share finds no room.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Holding(NamedTuple):
    """What a job has of what it is guaranteed."""

    has: int  # samples asked for or held
    share: int  # samples
    sample_bytes: int


def spare_bytes(free_bytes: int, holdings: Iterable[Holding]) -> int:
    """Return what is left for jobs beyond their shares, below 0 if others are owed more."""
    return free_bytes - sum(
        (one.share - one.has) * one.sample_bytes for one in holdings if one.has < one.share
    )


def who_gives_back(holders: Iterable[tuple[Holding, T]]) -> list[T]:
    """Return those with more than their shares, the one with most beyond it first."""
    beyond = [
        (one.has - one.share, number, holder)
        for number, (one, holder) in enumerate(holders)
        if one.has > one.share
    ]
    return [holder for _, _, holder in sorted(beyond, key=lambda one: one[:2], reverse=True)]
