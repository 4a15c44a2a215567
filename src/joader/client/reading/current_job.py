"""The job that a loader is now, with what waits for its next pass: a connection and a nursery.

A dataset is looked at again before each pass, and a loader may become another job in between: its
dataset has changed, it is to bring other workers, or to share nothing. Invariant: the idle
connection and the nursery are of the job that was seen last; when it changes, both go. A pass that
is under way keeps the job that it began with.
Not here: what is seen of a dataset (look.py), what a job tells a daemon (job.py).
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from joader.client.dataset.learned import Kind, kind_of, learn, learned_of
from joader.client.reading.births import Nursery
from joader.client.reading.connection import Connection
from joader.client.reading.job import Job
from joader.client.reading.look import Looker, Sight
from joader.client.reading.no_daemon import Alone
from joader.client.reading.settings import Settings
from joader.errors import WorldError
from joader.memory import CannotTravel
from joader.recipe.watch import ROWS, AtHand, BetterInTheJob, Pace, Signs, Watch
from joader.storage import Storage

log = logging.getLogger("joader")


class Begun(Protocol):
    """A pass that has begun."""

    def hand_over(self) -> Connection | Alone:
        """Leave the connection to another pass."""
        ...


class CurrentJob:
    """What was seen of a loader's dataset last, and what is kept for it between passes."""

    def __init__(self, settings: Settings) -> None:
        """Look at nothing yet."""
        self.settings = settings
        self._looker: Looker | None = None  # made at the first look: copies begin without
        self._looked_at: tuple[Any, str, int] = None, "", 0  # dataset, order, rows at a time
        self._sight: Sight | None = None
        self._changes = 0  # how often the dataset was another at the beginning of a pass
        self._idle: Connection | None = None
        self._nursery: tuple[Job, Nursery] | None = None
        self._said_opaque = self._said_changed = False
        self._kind: Kind = None  # of its dataset, if what is known of that matters
        self._pace = Pace()  # of rows that the job reads, if they are at hand
        self._watch: Watch | None = None  # of rows that the job reads, if nobody knows

    def copied(self, context: Any) -> "CurrentJob":
        """Return the same for a loader that has begun no pass."""
        other = CurrentJob(replace(self.settings, context=context))
        other._said_opaque = self._said_opaque
        return other

    def is_deterministic(self, dataset: Any) -> bool:
        """Tell whether rows are known to come out the same each time."""
        return self._looker_at(dataset).is_deterministic(dataset)

    def sight(self, dataset: Any, order: str, batch_size: int) -> Sight:
        """Return what was seen last; look, if that was never."""
        if self._sight is None:
            self._sight = self._of_its_team(self._look(dataset, order, batch_size))
        return self._sight

    def look_again(
        self, dataset: Any, order: str, batch_size: int, *, persistent: bool
    ) -> Connection | None:
        """See what the dataset is now; any change means new workers and another job.

        `persistent` workers stay if nobody can tell whether anything has changed. Return what is
        registered for the rows before: close it once the others are registered, so that what both
        have in common is not forgotten.
        """
        before = self._sight
        now = self._look(dataset, order, batch_size)
        if before is None:
            self._sight = now
            return None
        stays = persistent and now.unsure and len(now.job.rows) == len(before.job.rows)
        if (before.is_same(now, order) and not now.unsure) or stays:
            # The job is the same to the daemon, but a newer version of a table may have other
            # values in the columns that are joined here.
            self._sight = replace(now, job=before.job)
            return None
        self._changes += 1
        self._sight = self._of_its_team(now)
        left, self._idle, self._nursery = self._idle, None, None
        return left

    def _of_its_team(self, sight: Sight) -> Sight:
        """Return what was seen, of a rank whose dataset has changed with another team.

        The one of before reads other data, and other ranks may be in their last steps there. All
        ranks change alike, so they meet.
        """
        rank = sight.job.rank
        if rank is None or not self._changes:
            return sight
        team = f"{rank.team}, change {self._changes}"
        return replace(sight, job=replace(sight.job, rank=replace(rank, team=team)))

    def bring(self, num_workers: int | None, context: Any) -> None:
        """Bring other workers from the next pass on."""
        self._become(replace(self.settings, num_workers=num_workers, context=context))

    def without_workers(self, why: type[Exception]) -> Job:
        """Bring no workers from now on."""
        at_hand = issubclass(why, AtHand)
        self._learn(**{"at_hand" if at_hand else "keeps_state": True})
        log.log(
            logging.INFO if at_hand else logging.WARNING,
            "the dataset %s, so this job reads it in its own process, as torch does without "
            "num_workers; give num_workers= to have worker processes read it",
            "is in memory, as it seems from the time its rows take"
            if at_hand
            else "has samples that cannot be handed to another process"
            if issubclass(why, CannotTravel)
            else "changes when it is read",
        )
        if at_hand:
            self._become(replace(self.settings, at_hand=True))
        else:
            self._become(replace(self.settings, keeps_state=True))
        return self.sight(*self._looked_at).job

    def watch_here(self) -> bool:
        """Tell whether the rows that the job reads next may tell that they are at hand."""
        its, sight = self.settings, self._sight
        if sight is None or self._kind is None or its.at_hand is not None:
            return False
        if sight.job.lending is not None or isinstance(sight.job.shared.dataset, Storage):
            return False
        if self._watch is None:
            signs = Signs(state=not its.keeps_state, pace=ROWS)
            self._watch = Watch(sight.job.shared.dataset, signs)
        return True

    def note_read_here(self, took_s: Sequence[float], *, drew: bool | None) -> None:
        """Note how long rows took the job; `drew`: random numbers, if they were watched."""
        if self.settings.at_hand and self._pace.is_slow(took_s):
            log.info("rows take longer than the first ones did, so the job asks a daemon for them")
            self._learn(at_hand=False)
            self._become(replace(self.settings, at_hand=False))
        elif drew is not None and self._watch is not None:
            self._see(self._watch, took_s, drew)

    def _see(self, watch: Watch, took_s: Sequence[float], drew: bool) -> None:
        """Find out whether rows that the job reads are at hand; from the next pass on."""
        try:
            enough = any(watch.saw(row_s, drew) for row_s in took_s)
        except AtHand:
            self._learn(at_hand=True)
            self._become(replace(self.settings, at_hand=True))
        except BetterInTheJob:  # it changes when it is read: whoever reads it had better see that
            self.settings = replace(self.settings, at_hand=False)
        else:
            if enough:
                self.settings = replace(self.settings, at_hand=False)

    def asks_after_all(self, job: Job) -> bool:
        """Tell whether rows of a job that needed no daemon have turned out to take long."""
        return job.at_hand and self.settings.at_hand is False

    def that_asks(self) -> Job:
        """Return the job as it is now that its rows take long."""
        job = self.sight(*self._looked_at).job
        self.say_if_opaque()
        return job

    def in_private(self, row: int) -> Job:
        """Share nothing from now on: what this job prepares is not what others have."""
        log.warning(
            "row %d comes out otherwise here than in another job with an equal recipe, so this job "
            "shares nothing with it: the dataset or prepare= depends on something that joader does "
            "not see (a file behind a path, a library's state), or is random although it is "
            "declared deterministic; key= tells jobs apart",
            row,
        )
        self._become(replace(self.settings, alone=True))
        return self.sight(*self._looked_at).job

    def say_if_opaque(self) -> None:
        """Say once that the job is not shared, if that is so, and why."""
        sight = self._sight
        if sight is not None and sight.opaque and not self._said_opaque:
            self._said_opaque = True
            where = "by workers of this job alone" if sight.job.lending else "in this process"
            log.warning(
                "this dataset is not shared with other jobs, and is read %s: %s",
                *(where, sight.opaque),
            )

    def say_changed(self, what: str) -> None:
        """Say once that the training loop changes the dataset during a pass."""
        if not self._said_changed:
            self._said_changed = True
            log.warning(
                "%s has changed during a pass, so the rest of the pass is read in this process, as "
                "torch does without num_workers, and what was read ahead is dropped; give "
                "num_workers= to have worker processes read it as it was when the pass began",
                what,
            )

    def connect(
        self, job: Job, batch_size: int, address: str | None, timeout_s: float
    ) -> Connection | Alone:
        """Register a job, starting a daemon if there is none; without one, go on alone."""
        if job.at_hand:
            return job.alone()
        try:
            # The nursery first: it is born while the daemon starts, and inherits no connection.
            nursery = self._nursery_of(job)
            return job.connect(address, batch_size, timeout_s, nursery)
        except WorldError as error:
            return self.alone(error, job)

    def replace_nursery(self, connection: Connection, job: Job) -> bool:
        """Have another nursery serve a job whose own was killed; it stays registered as it is.

        False if that cannot be, as the nursery has loaded other code: the job is another now.
        """
        killed = connection.nursery
        nursery = self._nursery_of(job, killed)
        if killed is None or nursery is None or nursery.ticket != killed.ticket:
            return False
        connection.serve_with(nursery)
        return True

    def alone(self, error: WorldError, job: Job) -> Alone:
        """Say why, and go on without a daemon; raise the error if that is not allowed."""
        # A rank cannot go on alone: what the others read depends on it.
        if self.settings.rank or not self.settings.fallback:
            try:
                raise error
            finally:
                # The traceback holds this frame. If the frame held the error, all of it, sockets
                # included, would stay until the garbage collector comes by.
                del error
        log.warning(
            "no daemon serves this job, so it loads by itself, as torch's loader would: %s. "
            "No row is lost; the next pass tries the daemon again (`joader status`). "
            "fallback=False raises instead",
            str(error).partition("\n")[0].rstrip(":."),
        )
        return job.alone()

    def keep(self, connection: Connection | Alone, job: Job) -> None:
        """Keep the connection of a pass that has ended for the next, if it is the same job."""
        if isinstance(connection, Alone) or not self._is_current(job):
            connection.close()  # the next pass tries the daemon again
        elif self._idle is None:
            self._idle = connection
        elif self._idle is not connection:
            connection.close()

    def free_connection(self, latest: Begun | None) -> Connection | Alone | None:
        """Return a connection for the pass that begins, if there is one that no other needs.

        Ranks read one pass at a time: one that begins takes over from the latest.
        """
        connection: Connection | Alone | None = self._idle
        self._idle = None
        if connection is None and self.settings.rank and latest is not None:
            connection = latest.hand_over()
        return connection if connection is not None and connection.usable_here else None

    def close(self) -> None:
        """Let go of the connection and of the nursery."""
        if self._idle is not None:
            self._idle.close()
        self._idle, self._nursery = None, None

    def _become(self, settings: Settings) -> None:
        """Be another job from now on."""
        self.close()
        self.settings = settings
        self._looker, self._sight = None, None

    def _look(self, dataset: Any, order: str, batch_size: int) -> Sight:
        self._looked_at = dataset, order, batch_size
        return self._looker_at(dataset).look(dataset, order, batch_size)

    def _looker_at(self, dataset: Any) -> Looker:
        if self._looker is None:
            self._remember(dataset)
            self._looker = Looker(self.settings)
        return self._looker

    def _remember(self, dataset: Any) -> None:
        """Take over what earlier loaders have found out of datasets alike."""
        its = self.settings
        if its.num_workers or its.rank is not None:
            return
        self._kind = self._kind or kind_of(dataset)
        known = learned_of(self._kind)
        if known.at_hand and its.at_hand is None and its.bare:
            its = replace(its, at_hand=True)
        if known.keeps_state and its.num_workers is None and not its.deterministic:
            its = replace(its, keeps_state=True)
        self.settings = its

    def _learn(self, **news: Any) -> None:
        """Let later loaders know."""
        if self._kind is not None:
            learn(self._kind, **news)

    def _is_current(self, job: Job) -> bool:
        return self._sight is not None and self._sight.job is job

    def _nursery_of(self, job: Job, before: Nursery | None = None) -> Nursery | None:
        """Return the process that bears the job's workers, a successor if it was killed.

        `before`: the one that a pass had, of a job that may not be the current one any more.
        """
        if self._nursery is not None and self._nursery[0] is job:
            before = self._nursery[1]
        if before is not None and before.alive:
            return before
        nursery = job.bear()
        if nursery is not None and before is not None:
            nursery.succeed(before)
        if nursery is not None and nursery.found is not None:
            self._learn(found=nursery.found)
        if nursery is not None and self._is_current(job):
            self._nursery = job, nursery
        return nursery
