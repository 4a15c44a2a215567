"""A daemon that is in no cluster: it stands in for `Neighbors` and leaves all work to this node."""

import asyncio
from collections.abc import Callable, Iterable

from joader.daemon.session import Session
from joader.errors import BadArgument
from joader.messages import Event, Place, Prepare, Register
from joader.statistics import CacheStatistics, ClusterStatistics

# How long ranks wait for a daemon that a job has just started to meet its cluster.
_JOINING_S = 30.0


class Alone:
    """Takes the calls that `Neighbors` takes, without any other node."""

    def __init__(self, again: Callable[[Session, Register], None]) -> None:
        """Start outside a cluster; `again` handles messages that waited for one."""
        self.joining = False  # it will be in one, but has not met it yet
        self._again = again
        self._waiting: list[tuple[Session, Register]] = []

    def end(self) -> None:
        """Note that the daemon has joined a cluster: take in ranks that have waited for it."""
        waiting, self._waiting = self._waiting, []
        for session, message in waiting:
            if not session.has_ended:
                self._again(session, message)

    async def leave(self) -> None:
        """Do nothing."""

    def hand_over(self, done: Callable[[], None]) -> None:
        """Hand over nothing."""
        done()

    def take_rank(self, session: Session, message: Register) -> bool:
        """Return whether a rank may register now; refuse one whose team has ranks elsewhere."""
        join = message.join
        if self.joining and join.team and join.ranks_here != join.world_size:
            self._waiting.append((session, message))
            loop = asyncio.get_running_loop()
            loop.call_later(min(_JOINING_S, message.settings.timeout_s / 2), self._give_up, session)
            return False
        if join.team and 0 < join.ranks_here < join.world_size:
            raise BadArgument(
                f"job {message.settings.name!r} has {join.world_size} ranks, {join.ranks_here} of "
                "them on this node, whose daemon is in no cluster; start one on each node with "
                "`joader up -d --cluster HOST:PORT` before the job, or give the loader another "
                "sampler"
            )
        return True

    def _give_up(self, session: Session) -> None:
        if any(one is session for one, _ in self._waiting):
            self._waiting = [each for each in self._waiting if each[0] is not session]
            session.refuse(
                "this node's daemon cannot reach the cluster of the job's other ranks; "
                "its log says why (`joader status` shows the nodes)"
            )

    def take(self, order: Prepare, code: str) -> Prepare | None:
        """Return all of it."""
        return order

    def place(self, message: Place) -> Place | None:
        """Return all of it."""
        return message

    def drop(self, samples: Iterable[int]) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def reported_here(self, event: Event) -> None:
        """Do nothing."""

    def whereabouts(self, sample: int) -> str:
        """Say nothing."""
        return ""

    delivered = 0

    def statistics(self, memory: CacheStatistics) -> ClusterStatistics | None:
        """Return that there is none."""
        return None
