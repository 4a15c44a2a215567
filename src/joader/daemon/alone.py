"""A daemon in no cluster: where others ask their neighbors, it does everything itself."""

from collections.abc import Iterable

from joader.daemon.session import Session
from joader.errors import BadArgument
from joader.messages import Event, Place, Prepare, Register
from joader.statistics import ClusterStatistics


class Alone:
    """No other nodes: all is done here."""

    async def leave(self) -> None:
        """Do nothing."""

    def take_rank(self, session: Session, message: Register) -> None:
        """Refuse a rank whose team has others on other nodes."""
        join = message.join
        if join.team and 0 < join.ranks_here < join.world_size:
            raise BadArgument(
                f"job {message.name!r} has {join.world_size} ranks, {join.ranks_here} of them on "
                "this node, whose daemon is in no cluster; start one on each node with `joader up "
                "-d --cluster HOST:PORT` before the job, or give the loader another sampler"
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

    def statistics(self) -> ClusterStatistics | None:
        """Return that there is none."""
        return None
