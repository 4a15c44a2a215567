"""The batches of one pass as they come: asked for ahead, from whoever serves the job now.

The pass's `Source` is the authority on what was yielded; the daemon's knowledge is a copy. So a
daemon that goes away costs a pause: the job registers with another one, says what was yielded, and
goes on. What was on its way is drawn again; nothing is lost or repeated. If there is no other
daemon, or it refuses the job or does not answer, the job goes on by itself (no_daemon.py). If the
user's own code hangs, it does not: the code would hang here, too.

A nursery that was killed is no reason to leave the daemon: another takes its place, under the same
ticket, and the job stays what it was. For a rank to leave and come again would end all the others.

A `Delivery` is of one pass and one thread at a time, and owns the connection until the pass ends.
Not here: what a batch is made of (assembly.py), how long to wait for a late one (patience.py).

How long a pass waits for a batch that is late: it asks the daemon what the batch waits for.

One `Patience` serves one pass; `begin` starts it anew for each batch. A row that the daemon is
about to give up gets the time that takes, once. Ranks wait for each other: one of them may be busy
for long, and is not lost.
Not here: what happens if the daemon does not answer, or is gone (delivery.py).
"""

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from joader.client.order.source import Drawn, Source
from joader.client.reading.connection import Connection
from joader.client.reading.loader_view import Reading
from joader.client.reading.no_daemon import Alone
from joader.client.reading.torch_workers import InWorkers, Request
from joader.daemon.lifecycle import log_path
from joader.errors import ConnectionLost, NoDaemon, Overdue, Refusal, WorldError
from joader.messages import MY_JOB, Announce, AskWhy, Deliver, Differs, Release, Why
from joader.recipe.randomness import key_of

# How often a rank waits `timeout` more for others that are here: rank 0 may be validating alone.
# With 120 s it is half an hour, after which torch.distributed gives up, too.
MOST_PATIENCE = 15
# A daemon that lives answers at once, even if all its workers are stuck.
_WHY_S = 5.0
# How long the daemon may take to give a row up: it looks now and then, and asks where the code is.
_GIVING_UP_S = 5.0


class Patience:
    """How much longer the batch that a pass waits for may take."""

    def __init__(self) -> None:
        """Begin with the first batch."""
        self.begin()

    def begin(self) -> None:
        """Wait for another batch."""
        self._waited = 0  # times, for other ranks
        self._granted = False  # the time that a row needs to be given up

    def more_s(self, connection: Connection, timeout_s: float) -> float:
        """Return how much longer to wait, or raise Overdue; TimeoutError if nobody answers."""
        why = connection.ask(AskWhy(), Why, _WHY_S)
        if 0 < why.more_s <= timeout_s and not self._granted:
            # Once: the daemon then names the row that took too long, which says more than Overdue.
            self._granted = True
            return why.more_s + _GIVING_UP_S
        text = (
            f"{silence(connection, timeout_s)}: {why.text}. See `joader status`, or give a larger "
            "timeout="
        )
        self._waited += 1
        if not why.patience or self._waited > MOST_PATIENCE:
            raise overdue(text, timeout_s)
        log.warning("%s", text)
        return timeout_s


def overdue(text: str, timeout_s: float) -> Overdue:
    """Return what to raise, with what torch's loader says first: scripts look for that."""
    return Overdue(f"DataLoader timed out after {timeout_s:g} seconds: {text}")


def silence(connection: Connection, timeout_s: float) -> str:
    """Say who was waited for, and how long."""
    return f"no batch came from the daemon (process {connection.daemon_pid}) in {timeout_s:g} s"


def daemon_log() -> str:
    """Name the daemon's log; if its folder is gone, that is not a reason to stop."""
    with suppress(NoDaemon):
        return str(log_path())
    return "its log"


# Daemons lost in a row, without a batch between them, before the pass gives up.
MOST_LOSSES = 3

log = logging.getLogger("joader")


class Delivery:
    """What a pass asks for and gets."""

    def __init__(
        self, loader: Reading, connection: Connection | Alone, source: Source, ahead: int
    ) -> None:
        """Ask for `ahead` batches at a time, once it has begun; 0: for each when it is due."""
        self.connection = connection
        self._loader = loader
        self._source = source
        self._ahead = ahead
        self._number = 0  # of the pass on its connection, once it has begun
        self._losses = 0
        self._asked = 0  # batches, and not yielded
        self._noted_at = 0.0  # when a batch was yielded last; 0: none was
        self._cpu_s = 0.0  # of this process, until then
        self._spent: dict[str, float] = {}  # on that batch, by what; empty: it was said
        self._patience = Patience()
        self._workers: InWorkers | None = None  # torch's, which read if there is no daemon
        self._read: dict[int, Any] = {}  # samples of the latest batch, from them

    @property
    def begun(self) -> bool:
        """Whether anything was asked for."""
        return self._number > 0

    @property
    def read(self) -> dict[int, Any] | None:
        """The samples of the latest batch by place, if torch's workers have read them."""
        return None if self._workers is None else self._read

    def begin(self) -> None:
        """Ask for the first batches."""
        try:
            self._begin()
        except ConnectionLost as error:
            self._note_loss(error)

    def note(
        self, batch: Deliver, wait_s: float = 0.0, read_s: float = 0.0, collate_s: float = 0.0
    ) -> None:
        """Note that a batch was yielded that was waited for so long, and ask for another.

        Its slots are given back. The daemon is told how long the job took for it: whoever could
        read faster gets more of the workers' time.
        """
        now, before = time.monotonic(), self._noted_at
        cpu_s, cpu_before_s = time.process_time(), self._cpu_s
        self._noted_at, self._cpu_s = now, cpu_s
        # First: if the daemon is lost below, the next one must be told that this batch is done.
        self._source.note(batch)
        try:
            self.connection.send(Release(MY_JOB, batch.samples))
            self._spent = {
                "step_s": max(0.0, now - before - wait_s) if before else 0.0,
                "wait_s": wait_s,
                "read_s": read_s,
                "collate_s": collate_s,
                "cpu_s": cpu_s - cpu_before_s,
            }
            self._asked -= 1
            if self._ahead:
                self._ask()
        except ConnectionLost as error:  # the batch is whole; the next one comes from another
            self._note_loss(error)

    def next(self) -> Deliver:
        """Return the next batch of this pass, from another daemon if need be."""
        if self._loader.asks_after_all:
            self._loader.ask_after_all()
            self.register_anew()
        deadline = time.monotonic() + self._loader.timeout_s
        self._patience.begin()
        while True:
            try:
                if self.connection.lost:
                    self._go_on_elsewhere()
                    deadline = time.monotonic() + self._loader.timeout_s  # it may have to start
                if not self._asked:
                    self._ask()
                if self._workers is not None:
                    break  # also if the pass has lost its daemon only now
                news = self.connection.batch(max(0.0, deadline - time.monotonic()))
                if isinstance(news, Announce):
                    self._learn(news)
                elif isinstance(news, Differs):
                    self._share_no_more(news.row)
                elif news.number == self._number:
                    self._losses = 0
                    return news
                else:
                    # It is left of a pass that was broken off. Its layouts are new to us all the
                    # same: the daemon sends each only once per connection.
                    self.connection.layouts(news)
                    self.connection.send(Release(MY_JOB, news.samples))
            except TimeoutError:
                deadline = time.monotonic() + self._more_s()
            except ConnectionLost as error:
                self._note_loss(error)
                deadline = time.monotonic() + self._loader.timeout_s
            except Refusal as error:
                self._go_on_alone(error)
        batch, self._read = self._workers.next()
        return batch

    def register_anew(self) -> None:
        """Go on as the job that the loader is by now; what was read ahead is dropped."""
        # Not closed: if anything comes between, the pass goes on as after the loss of a daemon.
        self.connection.lost = True
        self.connection.hang_up()
        try:
            self.connection = self._loader.connect()
            self._begin()
        except ConnectionLost as error:
            self._note_loss(error)
        except Refusal as error:
            self._go_on_alone(error)

    def _begin(self) -> None:
        """Tell the daemon what is left, and ask for the first batches."""
        self.connection.passes += 1
        self._number = self.connection.passes
        self._asked = 0
        begin = self._source.begin(self._number, self.connection.draws_as)
        self.connection.send(replace(begin, renew=self._loader.renews))
        if isinstance(self.connection, Alone):
            self._workers = self._loader.in_workers(
                _requests(self._source, self.connection, self._loader)
            )
        if self._workers is None:
            for _ in range(self._ahead):
                self._ask()

    def _ask(self) -> None:
        if self._workers is not None:
            return  # torch takes from `_requests` as far ahead as it likes
        request = self._source.ask()
        if request is None:
            return
        if request.count > self.connection.batch_size:
            # A batch sampler may give a batch larger than any before it, and the job registered
            # with the largest that was known. So register anew, and ask for this one again.
            self.connection.close()
            self.connection = self._loader.connect(request.count)
            self._begin()
            if not self._ahead:
                self._ask()
        else:
            told = replace(request, waited_s=self._loader.waited_s, **self._spent)
            self._spent = {}
            self._asked += 1
            self.connection.send(told)

    def _learn(self, news: Announce) -> None:
        """Note what a rank's pass reads next, so that it can go on without this daemon."""
        if news.number == self._number and isinstance(self._source, Drawn):
            self.connection.send(self._source.learn(news))

    def _share_no_more(self, row: int) -> None:
        """Register anew, under a name that is nobody else's. Nothing was handed out yet."""
        self.connection.close()
        self.connection = self._loader.connect_in_private(row)
        self._begin()

    def _note_loss(self, error: ConnectionLost) -> None:
        """Take note that the nursery is gone, or the daemon: the next wait looks for another."""
        bereft = isinstance(self.connection, Connection) and self.connection.bereft
        if not bereft:
            self.connection.lost = True
            self.connection.hang_up()
        self._losses += 1
        if self._losses > MOST_LOSSES:
            who = "processes that bear its workers" if bereft else "daemons"
            given_up = NoDaemon(
                f"{self._losses} {who} went away in the middle of this pass, the last daemon was "
                f"process {self.connection.daemon_pid}; state_dict() holds what was yielded. Their "
                f"log: {daemon_log()}"
            )
            given_up.__cause__ = error
            self._go_on_alone(given_up)
        elif bereft:
            self._replace_nursery()

    def _replace_nursery(self) -> None:
        """Have another process bear the workers: the job stays registered as it is."""
        assert isinstance(self.connection, Connection)
        log.warning("the process that bears this loader's workers was killed; another is born")
        try:
            self.connection.lost = not self._loader.replace_nursery(self.connection)
        except WorldError as error:
            self._go_on_alone(error)
            return
        if self.connection.lost:
            self.connection.hang_up()

    def _go_on_elsewhere(self) -> None:
        """Register with the daemon that runs now, starting one if there is none, and go on."""
        gone = self.connection.daemon_pid
        self.connection = self._loader.connect(self.connection.batch_size)
        if isinstance(self.connection, Connection) and self.connection.daemon_pid != gone:
            log.warning(
                "the daemon (process %d) is gone; the pass goes on with process %d",
                *(gone, self.connection.daemon_pid),
            )
        elif isinstance(self.connection, Connection):
            log.warning("the daemon has let this rank go: all ranks of its job meet anew")
        self._begin()

    def _go_on_alone(self, error: WorldError) -> None:
        """Go on without a daemon, or raise the error."""
        try:
            alone = self._loader.alone(error)  # first: if it raises, the connection stays as it is
        finally:
            del error  # no ring with the traceback
        self.connection.close()
        self.connection = alone
        self._begin()

    def _more_s(self) -> float:
        """Return how much longer to wait for a late batch, or raise Overdue."""
        assert isinstance(self.connection, Connection)
        timeout_s = self._loader.timeout_s
        try:
            return self._patience.more_s(self.connection, timeout_s)
        except Overdue:  # a TimeoutError as well, but that of an answer
            raise
        except TimeoutError:
            late = silence(self.connection, timeout_s)
            text = f"{late}, and it does not answer; see {daemon_log()}"
            self._go_on_alone(overdue(text, timeout_s))
        except ConnectionLost as error:
            self._note_loss(error)
        except Refusal as error:
            self._go_on_alone(error)
        return timeout_s


def _requests(source: Source, alone: Alone, loader: Reading) -> Iterator[Request]:
    """Yield all that is left of a pass, batch by batch, for torch's workers.

    Not a method: what torch's iterator reads from must not keep the delivery that owns it.
    """
    while (request := source.ask()) is not None:
        alone.send(request)
        batch = alone.batch(0.0)
        # Not `source.positions`, which knows only the batch that is yielded next.
        positions = batch.positions if request.positions is None else request.positions
        times = [0] * positions.size if request.times is None else request.times.tolist()
        key, _ = source.randomness(batch)
        keys = [key_of(key, p, t) for p, t in zip(positions.tolist(), times, strict=True)]
        yield batch, list(zip(loader.rows_at(positions).tolist(), keys, strict=True))
