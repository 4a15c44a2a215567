"""Shares of claimants under the bounds of homes: a small flow problem, solved when either changes.

A *home* is what bounds the processor time of a job's workers: their cgroup's quota and the
processors they may run on. Homes may lie apart, overlap, or be the same. Time flows from processors
through homes to claimants: a claimant has time only of homes where it has workers, a home has no
more than its bound, and a processor gives its time only once, however many homes it is in.

`max_min` gives all claimants the same per weight, but for those that want less, or whose homes are
full: what they leave is divided again among those that can use it. With one home it is what `fair`
gives. It is solved by raising all together until no flow can carry more; those that could not be
raised alone, either, keep what they have, and the others go on.

Not here: what claimants want (allocation.py), how bounds are kept (feeding.py). A quota of a cgroup
that contains two homes is not known.
"""

from collections import Counter, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

# Shares are as exact as this part of a processor, which is more than they can be kept.
_EXACT = 1e-4
_HALVINGS = 20

Graph = dict[Hashable, dict[Hashable, float]]  # what each edge can still carry
_FROM, _TO = "from", "to"


@dataclass(frozen=True)
class Home:
    """CPU time of `bound` processors among `processors`; if empty, those no other home names."""

    bound: float
    processors: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Wish:
    """What a claimant wants at most, its weight, and the homes where it has workers."""

    most: float
    weight: float
    homes: frozenset[str]


def home_of(name: str, cores: int) -> Home:
    """Return a home by the name that jobs give it: a cgroup, and the processors it is on."""
    _, _, listed = name.rpartition(" on ")
    numbers = listed.split(",")
    known = all(number.isdecimal() for number in numbers)
    return Home(float(cores), frozenset(map(int, numbers)) if known else frozenset())


def capacity(homes: Mapping[str, Home]) -> float:
    """Return what all homes can have at the same time."""
    everything = sum(home.bound for home in homes.values())
    return _carried([everything], [Wish(everything, 1.0, frozenset(homes))], homes)


def max_min(wishes: Sequence[Wish], homes: Mapping[str, Home]) -> list[float]:
    """Return the shares: the least per weight as large as it can be, then the next, and so on."""
    held: dict[int, float] = {}  # shares that cannot be raised any more
    level, bounds = 0.0, sum(home.bound for home in homes.values())

    def shares(level: float) -> list[float]:
        return [
            held.get(place, min(wish.most, level * wish.weight))
            for place, wish in enumerate(wishes)
        ]

    while len(held) < len(wishes):
        rising = [place for place in range(len(wishes)) if place not in held]
        enough = max(min(wishes[p].most, bounds) / wishes[p].weight for p in rising)
        low, high = level, max(level, enough)
        if _fits(shares(high), wishes, homes):
            low = high
        for _ in range(_HALVINGS if low < high else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if _fits(shares(middle), wishes, homes) else (low, middle)
        level, now = low, shares(low)
        stuck = [p for p in rising if low >= enough or not _can_rise(p, now, wishes, homes)]
        # Of those that seem able to rise, and do not rise together, one cannot: it is a rounding.
        held |= {place: now[place] for place in stuck or rising}
    return shares(level)


def _can_rise(
    place: int, shares: list[float], wishes: Sequence[Wish], homes: Mapping[str, Home]
) -> bool:
    """Tell whether one could have more while all others keep theirs."""
    if shares[place] >= wishes[place].most - _EXACT:
        return False
    more = [share + 4 * _EXACT * (other == place) for other, share in enumerate(shares)]
    return _fits(more, wishes, homes)


def _fits(shares: Sequence[float], wishes: Sequence[Wish], homes: Mapping[str, Home]) -> bool:
    return _carried(shares, wishes, homes) >= sum(shares) - _EXACT


def _carried(shares: Sequence[float], wishes: Sequence[Wish], homes: Mapping[str, Home]) -> float:
    """Return how much of these shares processors can give in all: the largest flow."""
    graph: Graph = {}
    for place, (share, wish) in enumerate(zip(shares, wishes, strict=True)):
        _link(graph, _FROM, place, share)
        for name in wish.homes:
            _link(graph, place, name, share)
    # Processors that are in the same homes are one pool.
    where = {
        processor: frozenset(name for name, home in homes.items() if processor in home.processors)
        for home in homes.values()
        for processor in home.processors
    }
    for pool, count in Counter(where.values()).items():
        _link(graph, ("pool", pool), _TO, float(count))
        for name in pool:
            _link(graph, ("home", name), ("pool", pool), float(count))
    for name, home in homes.items():
        _link(graph, name, ("home", name), home.bound)
        if not home.processors:
            _link(graph, ("home", name), _TO, home.bound)
    carried = 0.0
    while path := _path(graph):
        more = min(graph[a][b] for a, b in path)
        for a, b in path:
            graph[a][b] -= more
            graph[b][a] += more
        carried += more
    return carried


def _link(graph: Graph, a: Hashable, b: Hashable, carries: float) -> None:
    graph.setdefault(a, {})[b] = carries
    graph.setdefault(b, {}).setdefault(a, 0.0)


def _path(graph: Graph) -> list[tuple[Hashable, Hashable]]:
    """Return the edges of a shortest way that can carry more; none if there is no such way."""
    before: dict[Hashable, Hashable] = {_FROM: _FROM}
    queue: deque[Hashable] = deque([_FROM])
    while queue and _TO not in before:
        here = queue.popleft()
        for there, left in graph.get(here, {}).items():
            if left > _EXACT / 100 and there not in before:
                before[there] = here
                queue.append(there)
    path: list[tuple[Hashable, Hashable]] = []
    step: Hashable = _TO
    while step in before and step != _FROM:
        path.append((before[step], step))
        step = before[step]
    return path
