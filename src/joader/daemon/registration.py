"""Keeps which jobs are registered, their numbers, and the numbers of their rows.

A job whose dataset consists of pieces reads a recipe that it may share with other datasets, so its
rows are renumbered when it registers (engine/pieces.py). Orders to prepare come back in those
numbers, and are translated here for a dataset that has the rows.

Invariant: a job is in `sessions` if and only if the engine knows it, except while it joins, leaves
or is refused. Only `Registration` changes `sessions`. Not here: what jobs ask for.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict

from msgspec.structs import replace

from joader.daemon.log_format import event as log_event
from joader.daemon.names import Names, Run
from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.pieces import Pieces
from joader.engine.recipes import MOST_KEPT
from joader.errors import BadMessage
from joader.messages import (
    Compare,
    Compared,
    Differs,
    Event,
    Inspect,
    Join,
    Leave,
    Named,
    Prepare,
    Register,
    Registered,
)
from joader.schedule.work.actions import Lent
from joader.schedule.work.orders import part_of
from joader.statistics import ReadStatistics
from joader.workers.pool import Pool

log = logging.getLogger("joader.daemon")

# No machine has more; a client that reports more is not believed.
_MOST_CORES = 1 << 16


class Registration:
    """Registers and removes the jobs of one node."""

    def __init__(self, engine: Engine, pool: Pool, tell: Callable[[Event], None]) -> None:
        """Start without jobs; `tell` takes events for the engine."""
        self.sessions: dict[int, Session] = {}  # by job
        self.pieces = Pieces()
        self.past = ReadStatistics()  # of jobs that have left
        self.names = Names()
        # The latest recipes whose samples other nodes may take, by their name on all machines.
        self.hosted: dict[str, Register] = {}
        self._engine = engine
        self._pool = pool
        self._tell = tell
        self._jobs_made = 0
        # Set in a cluster: where orders start on all nodes, and what is told of jobs that join.
        self.stream_of: Callable[[str], int] = lambda recipe: 0
        self.on_join: Callable[[str], None] = lambda recipe: None

    # Jobs come and go.

    def register(self, session: Session, message: Register) -> None:
        """Register a job with the workers it brings; if anything fails, nothing of it is left."""
        if session.job is not None:
            raise BadMessage("a connection serves one job")
        session.keep(message.join.rows.nbytes + len(message.about))
        self._jobs_made += 1
        job = session.job = self._jobs_made
        stream = 0
        if message.everywhere and message.ticket and not message.pieces:
            stream = self.stream_of(message.everywhere)
        if stream:
            message = replace(message, join=replace(message.join, stream=stream))
        session.registered(message)
        self.sessions[job] = session  # before the engine is told: it may refuse the job at once
        try:
            # Workers of a recipe that is read already were compared when its first job came.
            is_new = bool(message.ticket) and not self._pool.dispatch.knows(message.ticket)
            if message.ticket:
                self._pool.join(job, session.pid, _lent(message))
            self._tell(replace(self._numbered(session, message), job=job))
            if is_new and message.compare:
                self._tell(Inspect(job))
        except Exception:
            self.remove(job)  # it never joined
            self._leave_pieces(session)
            raise
        if session.everywhere:
            self._note_hosted(session)
        if session.everywhere or session.relay is not None:
            self.on_join(session.everywhere)
        self._name(session, message)
        session.send(Registered(job, self._engine.life, session.label))
        log.info(
            "job %d joins: %s, process %d",
            *(job, session.label, session.pid),
            extra=log_event(
                "job_joined",
                job=job,
                name=session.name,
                pid=session.pid,
                dataset=session.table or session.dataset,
                rows=session.rows,
            ),
        )

    def _name(self, session: Session, message: Register) -> None:
        """Label a job, and relabel others if it differs from them in another option."""
        session.label = session.name
        if session.elsewhere:
            return  # no screen shows it
        rank = session.rank if session.world_size > 1 else None
        changed = self.names.join(session.job or 0, Run(session.name, message.options, rank))
        for job, label in changed.items():
            other = self.sessions.get(job)
            if other is not None:
                other.label = label
                if other is not session:
                    other.send(Named(job, label))

    def enter(self, session: Session, join: Join) -> None:
        """Register a remote rank, which is planned for here but reads elsewhere."""
        self._jobs_made += 1
        job = session.job = self._jobs_made
        self.sessions[job] = session
        try:
            self._tell(replace(join, job=job))
        except Exception:
            self.remove(job)
            raise

    @property
    def plans_for_others(self) -> bool:
        """Whether any ranks are planned for here."""
        return any(one.remote for one in self.sessions.values())

    def leave(self, session: Session, *, ending: bool = False) -> None:
        """Release all that a session's job had; if it was removed, only its pieces.

        `ending` means that the daemon ends, not the job.
        """
        job = session.job
        if session.relay is not None:
            session.relay.end(alone=not ending)
        if job is not None and self.sessions.pop(job, None) is not None:
            if not session.elsewhere:
                self._note_totals(job)
            # The engine first, so that what the pool gives up now is wanted only by other jobs.
            self._tell(Leave(job))
            self._pool.leave(job)
        self._leave_pieces(session)

    def remove(self, job: int) -> Session | None:
        """Forget a job that the engine has removed; its pieces are released when it leaves."""
        session = self.sessions.pop(job, None)
        if session is not None:
            self._pool.leave(job)
        return session

    def session_of(self, job: int) -> Session:
        """Return the session of a job; BadMessage if there is none."""
        session = self.sessions.get(job)
        if session is None:
            raise BadMessage(f"no job {job} is served now")
        return session

    def differs(self, event: Compared) -> None:
        """Stop a job from sharing, because it prepares a row differently from others."""
        session = self.sessions.get(event.job)
        if session is not None:
            row = self._engine.row_of(event.job, event.sample)
            log.warning(
                "job %d (%s): row %d differs from what others prepared",
                *(event.job, session.name, row),
                extra=log_event("rows_differ", job=event.job, name=session.name, row=row),
            )
            session.send(Differs(row))

    # What the workers here can prepare for other nodes, and what is here for them.

    def _note_hosted(self, session: Session) -> None:
        """Remember a recipe whose samples others may take over when this node leaves."""
        assert session.register is not None
        if session.register.pieces or session.fresh:
            return
        self.hosted.pop(session.everywhere, None)
        self.hosted[session.everywhere] = session.register
        if len(self.hosted) > MOST_KEPT:
            del self.hosted[next(iter(self.hosted))]

    def hosts(self) -> dict[str, Session]:
        """Return recipes by their name on all machines, each with a job that brings workers."""
        return {one.everywhere: one for one in self.sessions.values() if one.everywhere}

    def host_of(self, everywhere: str) -> Session | None:
        """Return a job that brings workers for a recipe, given by its name on all machines."""
        return next((s for s in self.sessions.values() if s.everywhere == everywhere), None)

    def host_of_code(self, code: str) -> Session | None:
        """Return a job whose code other nodes may have, too."""
        return next((s for s in self.sessions.values() if s.recipe == code and s.everywhere), None)

    def _note_totals(self, job: int) -> None:
        """Keep the figures of a job that leaves, because the engine forgets them."""
        got = self._engine.statistics().jobs[job]
        log.info(
            "job %d leaves: %d delivered, %d prepared",
            *(job, got.delivered, got.prepared),
            extra=log_event("job_left", job=job, **asdict(got)),
        )
        self.past += got

    # Rows by other numbers.

    def by_code(self, order: Prepare) -> Iterator[tuple[Prepare, str]]:
        """Return the rows to prepare by code, in its numbers; the job's own code if possible."""
        if not self.pieces.has(order.recipe):
            yield order, order.recipe
            return
        session = self.sessions.get(order.job)
        liked = session.recipe if session else ""
        # A row that no dataset has any more goes to the code "", which no worker has: it is lost.
        located = [self.pieces.locate(order.recipe, row, liked) or ("", 0) for row in order.rows]
        for code in dict.fromkeys(code for code, _ in located):
            rows = {place: row for place, (whose, row) in enumerate(located) if whose == code}
            yield part_of(order, rows), code

    def for_its_job(self, order: Compare) -> Compare | None:
        """Return a comparison in the row numbers of its job; None if that job lacks the row."""
        recipe = self.sessions[order.job].recipe
        code, row = self.pieces.locate(order.recipe, order.row, recipe) or ("", 0)
        return replace(order, row=row) if code == recipe else None

    def compare(self, order: Compare, layout_of: Callable[[int], bytes]) -> None:
        """Have a job's workers compare a row with the sample that others prepared."""
        own = self.for_its_job(order)
        if own is None:  # its dataset does not have this piece, so there is nothing to compare
            self._tell(Compared(order.job, order.sample))
        else:
            self._pool.compare(replace(own, layout=layout_of(order.sample)))

    def _numbered(self, session: Session, message: Register) -> Join:
        """Return the job's Join, with its rows in the numbers of its recipe."""
        alone = not message.ticket and not message.join.elsewhere
        join = replace(message.join, reads_itself=alone)
        if session.relay is not None:  # its team's host says what it reads
            join = replace(join, order="told", team="", rank=0, world_size=1)
        if not message.pieces:
            return join
        # A recipe that the engine has closed must not get jobs: its numbers are reused.
        self.pieces.forget_all_but(self._engine.has_recipe)
        numbered = self.pieces.join(
            message.ground, join.recipe, message.pieces, join.rows, message.stored_ground
        )
        session.common = numbered.recipe
        return replace(
            join,
            recipe=numbered.recipe,
            rows=numbered.rows,
            row_limit=numbered.row_limit,
            stored=numbered.stored,
        )

    def _leave_pieces(self, session: Session) -> None:
        if session.common:
            self.pieces.leave(session.common, session.recipe)
            session.common = ""  # a job that failed to register passes here again when it ends


def _lent(message: Register) -> Lent:
    return Lent(
        message.ticket,
        message.join.recipe,
        message.settings,
        workers=message.workers,
        waits=message.waits,
        team=message.join.team,
        home=message.home,
        cores=min(message.cores, _MOST_CORES),
    )
