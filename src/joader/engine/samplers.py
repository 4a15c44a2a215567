"""The samplers of a recipe, one for each order that its jobs ask for.

Under "shared" a job draws from streams, under "joint" jointly with others, and otherwise by itself.

A stream knows a job by the name that it reads for (a process, a team of ranks), not by its number:
a process that reads one pass after the other is one job to the stream, whichever of its loaders
reads, even if it lost the daemon for a moment. Two passes that a process reads at a time are drawn
apart: torch's would be independent, and a script that pairs them must not get every row with
itself.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from joader.sampling import (
    DependentSampler,
    IndependentSampler,
    Sampler,
    SequentialSampler,
    StreamSampler,
)
from joader.sampling.generation import Clock

SHARED, JOINT = "shared", "joint"
MakeSampler = Callable[[str, int], Sampler]  # from an order and a seed


def sampler_of(order: str, seed: int) -> Sampler:
    """Return a sampler of an order that jobs share.

    The seed belongs to one life of the daemon, or of a cluster, so it is the nonce, too.
    """
    return StreamSampler(seed, nonce=seed) if order == SHARED else DependentSampler(seed)


class Pass(Protocol):
    """A pass that draws under a name."""

    undrawn: int


class Samplers:
    """The samplers of one recipe."""

    def __init__(self, make: MakeSampler, seed: int, stream: int = 0, opened: int = 0) -> None:
        """Make samplers when somebody asks for them.

        `stream`: the seed of the streams of this recipe on all nodes of a cluster; 0: in none.
        `opened`: how many of their generations were opened here before.
        """
        self._make, self._seed = make, seed
        self.stream, self._opened = stream, opened
        self._barred: dict[str, int] = {}  # by name: the last generation it may not follow
        self._samplers: dict[str, Sampler] = {}
        self._passes: dict[str, Pass] = {}  # under way in streams, by the name they read for
        self._apart = 0
        # Stands for draws that come from another node, the same for all jobs: it draws nothing.
        self.elsewhere: Sampler = SequentialSampler()

    def sampler(self, order: str) -> Sampler:
        """Return the sampler of an order: the one its jobs share, or a new one."""
        if order not in (SHARED, JOINT):
            return SequentialSampler()
        if order not in self._samplers:
            if order == SHARED and self.stream:
                made: Sampler = StreamSampler(self.stream, self.stream, opened=self._opened)
            else:
                made = self._make(order, self._seed)
            self._samplers[order] = made
        return self._samplers[order]

    # Streams that other nodes follow, too.

    @property
    def latest(self) -> int:
        """The latest generation of its streams that is known."""
        streams = self._samplers.get(SHARED)
        return streams.latest if isinstance(streams, StreamSampler) else self._opened

    def clocks(self) -> list[Clock]:
        """Return how far its streams are read here."""
        streams = self._samplers.get(SHARED)
        return streams.clocks() if isinstance(streams, StreamSampler) else []

    def hear(self, clocks: Sequence[Clock], past: int = 0) -> None:
        """Take in how far other nodes have read, and the latest generation ever opened."""
        streams = self.sampler(SHARED)
        if isinstance(streams, StreamSampler):
            streams.hear(clocks, past)

    def bar(self, whom: str) -> None:
        """Bar a name from all generations so far: it may have followed them on another node."""
        self._barred[whom] = self.latest

    def barred(self, whom: str) -> int:
        """Return the last generation that a name is barred from."""
        return self._barred.get(whom, 0)

    def may_follow(self, whom: str) -> bool:
        """Tell whether a pass in this name may begin in the stream now.

        If others read generations that it may know, it draws by itself until there is a later one;
        if none is read, it opens one.
        """
        streams = self._samplers.get(SHARED)
        driven = isinstance(streams, StreamSampler) and streams.driven
        return not driven or self.latest > self.barred(whom) or whom not in self._barred

    def enter(self, whom: str, one: Pass) -> bool:
        """Let a pass draw in the stream under a name; False while another pass has the name."""
        other = self._passes.get(whom)
        if other is not None and other is not one and other.undrawn:
            return False
        self._passes[whom] = one
        return True

    def holds(self, whom: str, one: Pass) -> bool:
        """Tell whether a pass draws under a name."""
        return self._passes.get(whom) is one

    def leave(self, whom: str) -> None:
        """Free a name: its pass is over or was broken off, and another may draw under it."""
        del self._passes[whom]

    def apart(self) -> Sampler:
        """Return a sampler for a single pass."""
        self._apart += 1
        return IndependentSampler((self._seed << 32) + self._apart)

    def set_reach(self, rows: int) -> None:
        """Say how many rows memory can hold."""
        streams = self._samplers.get(SHARED)
        if isinstance(streams, StreamSampler) and streams.reach != rows:
            streams.reach = rows
