"""Lobster's Algorithm 1: threads for the queue of each rank; for comparison with a common pool.

Threads start in proportion to what waits in each rank's queue. A rank whose loading is predicted to
take longer than its training, by a threshold, searches for a better number of threads between
bounds that close in, with a bounded number of tries.

As printed the algorithm cannot work. Repaired here: who has too few threads goes on from there, so
its number is the *lower* bound (the bounds were swapped); bounds move to the number tried last (the
pivot stayed where it began); the try with the smaller difference is kept (the larger was); what
ranks get together is what the node has (each could have all), so a rank gets more only from those
that train no later without; and a rank with work has one thread at least (none was allowed).

Nothing live uses it: ranks of a job draw from one pool by deadline, which needs no prediction
(papers/simulators/rank_queues.py compares them).
"""

from collections.abc import Callable, Sequence

# What a rank with so many threads lacks: seconds of loading beyond its training; below 0, it waits.
Difference = Callable[[int, int], float]


def rank_threads(
    waiting: Sequence[int], difference: Difference, threads: int, threshold_s: float
) -> list[int]:
    """Return how many of a node's threads each rank gets; `waiting` are rows in its queue."""
    given = in_proportion(waiting, threads)
    lacks_s = {rank: difference(rank, given[rank]) for rank, rows in enumerate(waiting) if rows}
    for rank in sorted(lacks_s, key=lambda rank: -lacks_s[rank]):
        if lacks_s[rank] >= threshold_s:
            spare = {
                other: given[other] - _least(other, given[other], difference)
                for other in lacks_s
                if other != rank
            }
            most = threads - sum(given) + given[rank] + sum(spare.values())
            found = _searched(rank, given[rank], most, difference, threshold_s)
            for _ in range(found - given[rank] - (threads - sum(given))):
                giver = max(spare, key=spare.__getitem__)
                spare[giver] -= 1
                given[giver] -= 1
            given[rank] = found
    return given


def _least(rank: int, given: int, difference: Difference) -> int:
    """Return how few threads are enough for a rank; all that it has, if they are not."""
    return next((number for number in range(1, given) if difference(rank, number) <= 0.0), given)


def _searched(rank: int, first: int, most: int, difference: Difference, threshold_s: float) -> int:
    """Return the number of threads with the smallest difference that a search by halves finds."""
    low, high, pivot = first, most, first
    best, least_s = first, abs(difference(rank, first))
    for _ in range(most):  # the paper's bounded memory of tries
        lacks_s = difference(rank, pivot)
        if abs(lacks_s) < least_s:
            best, least_s = pivot, abs(lacks_s)
        if abs(lacks_s) < threshold_s:
            break
        if lacks_s < 0.0:
            high = pivot - 1
        else:
            low = pivot + 1
        if low > high:
            break
        pivot = low + (high - low) // 2
    return best


def in_proportion(waiting: Sequence[int], threads: int) -> list[int]:
    """Return threads in proportion to what waits, one at least where anything does."""
    given = [int(rows > 0) for rows in waiting]
    # To whoever has most waiting for each of its threads, one by one.
    for _ in range(threads - sum(given)):
        rank = max(range(len(waiting)), key=lambda rank: waiting[rank] / max(1, given[rank]))
        if not waiting[rank]:
            break
        given[rank] += 1
    return given
