"""All teams of an engine: their members, the steps that ranks want, and what ranks are told.

A rank may be *remote*: its samples are not delivered here, because it gets them on its own node,
from positions that are sent there (messages/nodes.py). To a team it is a rank like any other; it
gets Steps, which are small, instead of Announce, and a Grant instead of samples. Not here: how
a team plans and cuts its steps (team.py).
"""

from collections import deque
from collections.abc import Callable, Iterator

from joader.engine.reader import Reader
from joader.engine.team import Team, without
from joader.errors import BadArgument
from joader.messages import Announce, Grant, Instruction, Job, Join, Steps
from joader.sampling.job_rows import JobRows

FIRST_LEAD = -2


class Teams:
    """All teams, by name and by the ranks that are in them."""

    def __init__(self) -> None:
        """Start without any."""
        self._teams: dict[str, Team] = {}
        self._place: dict[Job, tuple[Team, int]] = {}
        self._wants: dict[Job, deque[float]] = {}  # when ranks wanted steps that have not come yet
        self._repeated: dict[Job, deque[int]] = {}  # what fills up steps in transit
        self._made = 0

    @property
    def leads(self) -> list[Reader]:
        """The leads of all teams."""
        return [team.lead for team in self._teams.values()]

    def find(self, job: Job) -> tuple[Team, int] | None:
        """Return the team of a job, and its rank."""
        return self._place.get(job)

    def lead_of(self, job: Job) -> Job:
        """Return the lead of a job's team."""
        return self._place[job][0].lead.job

    def rows_of(self, event: Join) -> JobRows | None:
        """Return the rows of a remote rank: its team's, sent once by the host."""
        team = self._teams.get(event.team)
        return team.lead.rows if team is not None and event.remote else None

    def join(self, event: Join, reader: Reader, make_lead: Callable[[Job], Reader]) -> None:
        """Let a rank into the team it names; the first makes the team."""
        if not 0 <= event.rank < event.world_size:
            raise BadArgument(
                f"rank={event.rank} is not a rank of {event.world_size}; ranks count from 0"
            )
        team = self._teams.get(event.team)
        if team is None:
            # Leads have numbers that no job has.
            lead = make_lead(FIRST_LEAD - self._made)
            team = Team(event.team, event.world_size, event.batch_size, event.drop_last, lead)
        if event.world_size != team.world_size or event.drop_last != team.drop_last:
            raise BadArgument(
                f"rank {event.rank} of job {event.team!r} has world_size={event.world_size}, the "
                f"ranks before it {team.world_size}, or they differ in drop_last"
            )
        team.join(event.rank, reader)
        if event.team not in self._teams:
            self._made += 1
            self._teams[event.team] = team
        self._place[event.job] = (team, event.rank)
        self._wants[event.job], self._repeated[event.job] = deque(), deque()

    def leave(self, job: Job) -> Reader | None:
        """Remove a rank; return the lead of its team if that was the last rank."""
        team, rank = self._place.pop(job)
        del self._wants[job], self._repeated[job]
        team.leave(rank)
        if team.ranks:
            return None
        del self._teams[team.name]
        return team.lead

    def know(self, job: Job, count: int) -> None:
        """Note that a rank knows the first `count` steps of its pass."""
        team, rank = self._place[job]
        team.know(rank, count)

    def reassign(self, job: Job, version: int) -> None:
        """Assign steps by another version from now on."""
        self._place[job][0].version = version

    def announcements(self) -> Iterator[Announce | Steps]:
        """Yield the announcements of coming steps, rank by rank."""
        for team in self._teams.values():
            for reader, first, steps in team.announce():
                if reader.terms.remote:
                    pieces = tuple(step.piece for step in steps)
                    yield Steps(reader.job, 0, first, pieces, reader.key)
                else:
                    said = tuple((step.positions, step.repeated, step.life) for step in steps)
                    yield Announce(reader.job, said, reader.key)

    def want(self, job: Job, now: float) -> None:
        """Note that a rank wants its next step."""
        self._wants[job].append(now)

    def forget_wants(self, job: Job) -> None:
        """Drop the requests of a rank that begins a pass: they were for the one before."""
        self._wants[job].clear()
        self._repeated[job].clear()

    def repeated(self, job: Job) -> int:
        """Return how many positions fill up the step that a rank is handed now."""
        return self._repeated[job].popleft() if self._repeated.get(job) else 0

    def hand_out(self, out: list[Instruction]) -> list[tuple[Reader, str]]:
        """Tell ranks their parts of the steps they want; return those that cannot have them.

        Grants for remote ranks are appended to `out`.
        """
        refused = []
        for team in self._teams.values():
            for rank, reader in team.ranks.items():
                wants = self._wants[reader.job]
                while wants and team.in_pass(rank):
                    gone = team.lacks(rank)
                    if gone is not None:
                        refused.append((reader, without(team.name, gone)))
                        break
                    taken = team.take(rank, wants[0])
                    if taken is None:
                        break
                    number, step, part = taken
                    if reader.terms.remote:
                        wants.popleft()
                        out.append(Grant(reader.job, 0, number))
                        continue
                    reader.tell(step.positions[part], step.times[part])
                    reader.note_want(part.stop - part.start, wants.popleft())
                    self._repeated[reader.job].append(step.repeated)
        return refused
