"""What one claimant needs, and what a policy is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """What one claimant wants of the workers' time.

    `demand`: worker-seconds per second at which its jobs never wait; infinite for one without a
    training step. `row_s`: worker-seconds per preparation. `step_s`: what its jobs take for a
    sample between two waits, the size of the model in A-Dloader's words; 0 if they take no time.
    """

    demand: float = math.inf
    weight: float = 1.0
    row_s: float = 1.0
    step_s: float = 0.0


Shares = list[float]


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule by its name: needs and capacity in, one share for each need out."""

    name: str
    shares: Callable[[Sequence[Need], float], Shares]
    reserves: bool = False  # nobody gets what another leaves


# Nobody falls below this part of the pool, or 1/N with N > 32 claimants: A-Dloader lets nobody fall
# below one worker, but a small pool has fewer workers than claimants.
LEAST_PART = 1 / 32


def least_share(count: int, capacity: float) -> float:
    """Return the least share of each of `count` claimants."""
    return min(capacity * LEAST_PART, capacity / count)


def in_proportion(sizes: Sequence[float], capacity: float) -> Shares:
    """Return the capacity divided in proportion to these, with a least part for each."""
    if not any(size > 0.0 for size in sizes):
        return [capacity / len(sizes)] * len(sizes) if sizes else []
    least = least_share(len(sizes), capacity)
    shares, left = [least] * len(sizes), capacity
    # The smallest first: what they get beyond their proportion is missing for the others.
    places = sorted(range(len(sizes)), key=sizes.__getitem__)
    for number, place in enumerate(places):
        total = sum(sizes[other] for other in places[number:])
        shares[place] = max(least, left * sizes[place] / total if total > 0.0 else 0.0)
        left -= shares[place]
    return shares
