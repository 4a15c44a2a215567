"""Who draws what comes next: the samplers of a recipe, one for each order that its jobs ask for.

Under "shared" a job draws from streams, under "joint" jointly with others, and otherwise by itself.

In a stream a job goes by whom it reads for (a process, a team of ranks), not by its number: a
process that reads one pass after the other is one job to the stream, whichever of its loaders
reads, also after it has lost the daemon for a moment. Two passes that a process reads at a time are
drawn apart: torch's would be independent, and a script that pairs them must not get every row with
itself.
"""

from collections.abc import Callable
from typing import Protocol

from joader.sampling import (
    DependentSampler,
    IndependentSampler,
    Sampler,
    SequentialSampler,
    StreamSampler,
)

SHARED, JOINT = "shared", "joint"
MakeSampler = Callable[[str, int], Sampler]  # from an order and a seed


def sampler_of(order: str, seed: int) -> Sampler:
    """Return a sampler of an order that jobs share.

    The seed is of one life of the daemon, so it is the nonce, too.
    """
    return StreamSampler(seed, nonce=seed) if order == SHARED else DependentSampler(seed)


class Pass(Protocol):
    """A pass that draws under a name."""

    undrawn: int


class Orders:
    """The samplers of one recipe."""

    def __init__(self, make: MakeSampler, seed: int) -> None:
        """Make samplers when somebody asks for them."""
        self._make, self._seed = make, seed
        self._samplers: dict[str, Sampler] = {}
        self._passes: dict[str, Pass] = {}  # under way in streams, by whom they are read for
        self._apart = 0

    def sampler(self, order: str) -> Sampler:
        """Return the sampler of an order: its jobs' one, or a new one."""
        if order not in (SHARED, JOINT):
            return SequentialSampler()
        if order not in self._samplers:
            self._samplers[order] = self._make(order, self._seed)
        return self._samplers[order]

    def enter(self, whom: str, one: Pass) -> bool:
        """Let a pass draw in the stream in somebody's name; False while another pass does."""
        other = self._passes.get(whom)
        if other is not None and other is not one and other.undrawn:
            return False
        self._passes[whom] = one
        return True

    def holds(self, whom: str, one: Pass) -> bool:
        """Tell whether a pass draws in somebody's name."""
        return self._passes.get(whom) is one

    def leave(self, whom: str) -> None:
        """Let the name go: its pass is over, or was broken off, and others may draw in it."""
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
