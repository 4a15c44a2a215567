"""One pass over a loader's dataset: asks ahead, copies each batch, gives its slots back, yields it.

A pass asks for a few batches at a time, copies each out of shared memory into a private one, gives
the slots back, and only then yields: what a user does to a batch reaches nobody else.

Its `Source` is the authority on what was yielded; the daemon's knowledge is a copy. So a daemon
that goes away costs a pause: the pass registers with another one, says what was yielded, and goes
on. What was on its way is drawn again; nothing is lost or repeated. So does a nursery that was
killed: another is born. If there is no other daemon, or it refuses the job or does not answer, the
pass goes on in the process itself (alone.py). Not so if the user's own code hangs: it would hang
here, too.

Rows that nobody has prepared for a job without workers (`absent`) are read here (in_job.py), and
the batch is then made of objects, as torch's loader without workers makes it.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from joader.client.order.source import Drawn, Source
from joader.client.reading.collate import Samples, Slots, samples_of
from joader.client.reading.connection import Connection
from joader.client.reading.in_job import InJob
from joader.client.reading.loader_view import Reading
from joader.client.reading.mismatch import forms
from joader.client.reading.no_daemon import Alone
from joader.client.reading.on_error import Mender, failure, good_places
from joader.client.reading.torch_workers import Failed, InWorkers, Request
from joader.daemon.lifecycle import log_path
from joader.errors import (
    BadArgument,
    ConnectionLost,
    NoDaemon,
    Overdue,
    Refusal,
    WorldError,
)
from joader.messages import MY_JOB, Announce, AskWhy, Deliver, Differs, Release, Why
from joader.recipe.parts import KeepsState
from joader.recipe.randomness import key_of
from joader.workers.complaint import class_of, complaint, without_class

# Daemons lost in a row, without a batch between them, before the pass gives up.
MOST_LOSSES = 3
# How often a rank waits `timeout` more for others that are here: rank 0 may be validating alone.
# With 120 s it is half an hour, after which torch.distributed gives up too.
MOST_PATIENCE = 15
_WHY_S = 5.0
_HERE = "the job itself, process"
# How long the daemon may take to give a row up: it looks now and then, and asks where the code is.
_GIVING_UP_S = 5.0

log = logging.getLogger("joader")


class Pass:
    """An iterator over the batches of one pass."""

    def __init__(
        self, loader: Reading, connection: Connection | Alone, source: Source, ahead: int
    ) -> None:
        """Begin, asking for `ahead` batches at a time.

        Ranks begin with the first batch: who only calls iter() takes part in no pass.
        """
        self._loader = loader
        self.connection = connection
        self.source = source
        self._ahead = ahead
        self._losses = 0
        self._patient, self._granted = 0, False  # of the batch waited for: see _more_time
        self._over = ""  # why it goes no further
        self._number = 0  # of the pass on its connection, once it has begun
        self._mender = Mender(loader.on_error, equal_steps=not loader.goes_on_elsewhere)
        self._in_job: InJob | None = None  # who reads rows here, once there is one to read
        self._in_workers: InWorkers | None = None  # who reads for it where there is no daemon
        self._read: dict[int, Any] = {}  # samples of the latest batch, from there
        self._unread: Deliver | None = None  # a batch that was being read here
        self._wrong = 0  # how many rows of the latest batch failed
        self._given_back = False
        self._said_here = False
        self._failure: Exception | None = None  # what the latest batch is to raise
        self._one_at_a_time = threading.RLock()
        if loader.goes_on_elsewhere:
            self._begin_now()

    def __iter__(self) -> "Pass":
        """Return itself."""
        return self

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled, as torch's iterators do."""
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def __len__(self) -> int:
        """Return the number of batches of a full pass, as torch's iterators do."""
        return len(self._loader)

    def __next__(self) -> Any:
        """Return the next batch; threads that share an iterator get one each."""
        with self._one_at_a_time:
            return self._next()

    def _next(self) -> Any:
        while True:
            self._check()
            started = time.perf_counter()
            batch = self._unread or self._batch()
            if self._loader.tries_here and any(_keeps_state(why) for _, why in batch.failed):
                self._read_here_from_now_on()
                continue
            alone = isinstance(self.connection, Alone)
            wait_s = time.perf_counter() - started
            self._failure = None
            try:
                whole = self._whole(batch)
                data = None if whole is None else self._collated(batch, whole)
            except BaseException as error:
                if isinstance(error, Exception) and self.connection.ended:
                    self._unread = None
                    continue
                if self._unread is not None:
                    raise  # Ctrl-C came while it was read: it is still to come
                self._note(batch)  # a batch that cannot be collated is over: the next is another
                raise
            self._unread = None
            if self.connection.ended:
                continue  # it comes again, from elsewhere
            self._note(batch)
            if self._failure is not None:  # and as with torch, the next batch is another
                raise self._failure
            made = 0 if whole is None else len(whole.rows)
            replaced = max(0, made - (len(batch.positions) - self._wrong))
            self._loader.count(batch, wait_s, self._wrong, replaced, alone)
            if whole is not None:
                return self._loader.finished(data)

    def _whole(self, batch: Deliver) -> Slots | Samples | None:
        """Return what to make a batch of; None if it is left out, as all its rows failed."""
        here = batch.absent.size > 0 or self._loader.reads_itself
        if here or any(self._may_try_here(reason) for _, reason in batch.failed):
            return self._read_here(batch)
        return self._slots(batch)

    def _read_here_from_now_on(self) -> None:
        """Go on without workers: the dataset keeps state, which torch would keep in this process.

        Nothing that a worker has prepared was yielded, as each tells so at its first row.
        """
        self.connection.close()
        self.connection = self._loader.connect_without_workers()
        self._ahead = 1
        self._begin()

    def _read_here(self, batch: Deliver) -> Samples | None:
        """Read what is missing of a batch in this process, and make it of objects.

        Until that is done the batch is kept: an interrupt (Ctrl-C) must not cost its rows.
        """
        if self._in_job is None:
            self._in_job = self._loader.in_job()
        reader, source = self._in_job, self.source
        positions = source.positions(batch)
        rows = self._loader.rows_at(positions)
        pass_key, times = source.randomness(batch)
        keys = [key_of(pass_key, p, t) for p, t in zip(positions.tolist(), times, strict=True)]
        failed = dict(self._failed(batch))
        found = samples_of(self.connection.layouts(batch), self.connection.memory, batch)
        if self._in_workers is not None:
            found = self._read
        self._unread = batch
        samples: list[Any] = []
        good: list[int] = []
        wrong: list[tuple[int, str]] = []
        with reader.undisturbed():
            for place, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True)):
                position = int(positions[place])
                if position in failed and not self._may_try_here(failed[position]):
                    wrong.append((position, failed[position]))
                    continue
                sample = found.get(place)
                if isinstance(sample, Failed):
                    wrong.append((position, sample.reason))
                    continue
                try:
                    if place in found:
                        if self._loader.reads_itself:  # the own part is done here, too
                            sample = reader.finished(sample, key)
                    else:
                        sample = reader.sample(row, key)
                except Exception as error:
                    if self._mender.raises:
                        self._failure = failure(row, position, reader.at, error)
                        return None
                    wrong.append((position, complaint(error, reader.at, __file__, _HERE)))
                    continue
                if position in failed:
                    self._say_here(failed[position])
                samples.append(sample)
                good.append(place)
        self._wrong = len(wrong)
        mended = self._mender.mended_samples(Samples(samples, rows[good]), good, len(rows))
        self._tell_of(wrong, mended is None)
        return None if self._failure else mended

    def _may_try_here(self, reason: str) -> bool:
        """Tell whether a row that failed in a worker is worth a try in the job.

        Not if it ended its worker, or took too long, or ran out of memory: it would do so here.
        """
        kind = class_of(reason)
        if kind is None or issubclass(kind, MemoryError):
            return False
        return self._loader.tries_here or issubclass(kind, KeepsState)

    def _say_here(self, reason: str) -> None:
        if not self._said_here:
            self._said_here = True
            log.warning(
                "a row cannot be prepared in a worker process and can be in this one, so the job "
                "does it, and all others like it (num_workers=0 reads all rows here): %s",
                without_class(reason).strip().splitlines()[-1],
            )

    def _collated(self, batch: Deliver, whole: Slots | Samples) -> Any:
        try:
            return self._loader.collated(whole)
        except Exception as error:  # of the user's collate_fn, or of torch's
            if isinstance(whole, Slots):
                error.add_note(forms(self._rows(batch, len(whole.layouts)), whole.layouts))
            self._unread = None  # it would fail again
            raise

    def _check(self) -> None:
        """Raise where there is no next batch; begin the pass if it has not begun."""
        self.source.raise_error()
        if self.source.complete and self._unread is None:
            self._give_connection_back()
            raise StopIteration
        if self._over or not self.connection.usable_here:
            raise BadArgument(
                f"this pass {self._over or 'was begun in another process, or was closed'}; begin "
                "one with iter()"
            )
        if not self._number:
            self._begin_now()

    def _slots(self, batch: Deliver) -> Slots | None:
        """Return what to make a batch of that workers have prepared."""
        layouts = self.connection.layouts(batch)
        rows = self._loader.rows_at(self.source.positions(batch))
        if batch.failed:
            rows = rows[good_places(batch)]
        slots = Slots(layouts, self.connection.memory, batch.offsets, rows)
        mended = self._mender.mended(batch, slots)
        self._wrong = len(batch.failed)
        self._tell_of(self._failed(batch), mended is None)
        return None if self._failure else mended

    def _tell_of(self, failed: list[tuple[int, str]], nothing_left: bool) -> None:
        """Have the first failure of a batch raised, or name all of them in the log."""
        if failed and (self._mender.raises or (nothing_left and not self._mender.leaves_out)):
            position, reason = failed[0]
            self._failure = failure(self._loader.row_at(position), position, "", reason)
            return
        for position, reason in failed:
            self._mender.name(position, self._loader.row_at(position), reason)

    def _rows(self, batch: Deliver, count: int) -> list[int]:
        """Return the rows of a batch, without those that were left out."""
        failed = {position for position, _ in self._failed(batch)}
        positions = self.source.positions(batch).tolist()
        if len(positions) != count:
            positions = [position for position in positions if position not in failed]
        return [self._loader.row_at(position) for position in positions]

    def _failed(self, batch: Deliver) -> list[tuple[int, str]]:
        """Return the positions of the dataset that failed, with the reasons."""
        numbers, reasons = batch.positions.tolist(), dict(batch.failed)
        positions = zip(numbers, self.source.positions(batch).tolist(), strict=True)
        return [(position, reasons[n]) for n, position in positions if n in reasons]

    def hand_over(self) -> Connection | Alone:
        """Leave the connection to another pass; this one is over."""
        self._over = "was ended by the next one, as ranks read one at a time"
        return self.connection

    def _note(self, batch: Deliver) -> None:
        """Note that a batch was yielded, give its slots back, and ask for another."""
        self.source.note(batch)
        try:
            self.connection.send(Release(MY_JOB, batch.samples))
            self._ask()
        except ConnectionLost as error:  # the batch is whole; the next one comes from another
            self._note_loss(error)

    def _begin_now(self) -> None:
        try:
            self._begin()
        except ConnectionLost as error:
            self._note_loss(error)

    def _begin(self) -> None:
        """Tell the daemon what is left, and ask for the first batches."""
        self.connection.passes += 1
        self._number = self.connection.passes
        begin = self.source.begin(self._number)
        self.connection.send(replace(begin, renew=self._loader.renews))
        if isinstance(self.connection, Alone):
            self._in_workers = self._loader.in_workers(self._requests(self.connection))
        if self._in_workers is None:
            for _ in range(self._ahead):
                self._ask()

    def _requests(self, alone: Alone) -> Iterator[Request]:
        """Yield all that is left of the pass, batch by batch, for workers that are told ahead."""
        while (request := self.source.ask()) is not None:
            alone.send(request)
            batch = alone.batch(0.0)
            told = batch.positions if request.positions is None else request.positions
            times = [0] * told.size if request.times is None else request.times.tolist()
            key, _ = self.source.randomness(batch)
            keys = [key_of(key, p, t) for p, t in zip(told.tolist(), times, strict=True)]
            yield batch, list(zip(self._loader.rows_at(told).tolist(), keys, strict=True))

    def _ask(self) -> None:
        if self._in_workers is not None:
            return  # they are told by themselves
        request = self.source.ask()
        if request is None:
            return
        if request.count > self.connection.batch_size:  # a batch sampler may surprise us
            self.connection.close()
            self.connection = self._loader.connect(request.count)
            self._begin()
        else:
            self.connection.send(request)

    def _batch(self) -> Deliver:
        """Return the next batch of this pass, from another daemon if need be."""
        if self._in_workers is not None:
            ready, self._read = self._in_workers.next()
            return ready
        deadline = time.monotonic() + self._loader.timeout_s
        self._patient, self._granted = 0, False
        while True:
            try:
                if self.connection.lost:
                    self._go_on_elsewhere()
                    deadline = time.monotonic() + self._loader.timeout_s  # it may have to start
                batch = self.connection.batch(max(0.0, deadline - time.monotonic()))
                if isinstance(batch, Announce):
                    self._learn(batch)
                    continue
                if isinstance(batch, Differs):
                    self._share_no_more(batch.row)
                    continue
                if batch.number == self._number:
                    self._losses = 0
                    return batch
                # What is left of a pass broken off goes back.
                self.connection.layouts(batch)
                self.connection.send(Release(MY_JOB, batch.samples))
            except TimeoutError:
                deadline = time.monotonic() + self._more_time()
            except ConnectionLost as error:
                self._note_loss(error)
            except Refusal as error:
                self._go_on_alone(error)

    def _share_no_more(self, row: int) -> None:
        """Register anew, under a name that is nobody else's. Nothing was handed out yet."""
        self.connection.close()
        self.connection = self._loader.connect_in_private(row)
        self._begin()

    def _learn(self, news: Announce) -> None:
        """Note what a rank's pass reads next, so that it can go on without this daemon."""
        if news.number == self._number and isinstance(self.source, Drawn):
            self.connection.send(self.source.learn(news))

    def _note_loss(self, error: ConnectionLost) -> None:
        self.connection.lost = True
        self.connection.hang_up()
        self._losses += 1
        if self._losses > MOST_LOSSES:
            given_up = NoDaemon(
                f"{self._losses} daemons went away in the middle of this pass, the last was "
                f"process {self.connection.daemon_pid}; state_dict() holds what was yielded. Their "
                f"log: {_log()}"
            )
            given_up.__cause__ = error
            self._go_on_alone(given_up)

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
            log.warning("the process that bears this loader's workers was killed; another is born")
        self._begin()

    def _go_on_alone(self, error: WorldError) -> None:
        """Go on without a daemon, or raise the error."""
        alone = self._loader.alone(error)
        self.connection.close()
        self.connection = alone
        self._begin()

    def _more_time(self) -> float:
        """Ask what a late batch waits for; return how long to wait on, or raise Overdue."""
        assert isinstance(self.connection, Connection)
        pid = self.connection.daemon_pid
        timeout_s = self._loader.timeout_s
        silence = f"no batch came from the daemon (process {pid}) in {timeout_s} s"
        try:
            why = self.connection.ask(AskWhy(), Why, _WHY_S)
        except TimeoutError:
            self._go_on_alone(Overdue(f"{silence}, and it does not answer; see {_log()}"))
            return timeout_s
        except ConnectionLost as error:
            self._note_loss(error)
            return timeout_s
        except Refusal as error:
            self._go_on_alone(error)
            return timeout_s
        if 0 < why.more_s <= timeout_s and not self._granted:
            self._granted = True  # the row is given up before long, and is the culprit
            return why.more_s + _GIVING_UP_S
        text = f"{silence}: {why.text}. See `joader status`, or give a larger timeout="
        self._patient += 1
        if not why.patience or self._patient > MOST_PATIENCE:
            raise Overdue(text)
        log.warning("%s", text)
        return timeout_s

    def _give_connection_back(self) -> None:
        """Leave the connection to the loader's next pass, once: it is the same job."""
        if self._given_back:
            return
        self._given_back = True
        if self.connection.usable_here and not self.connection.lost and not self._over:
            self._loader.keep(self.connection)

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Leave the connection to the loader when a pass is broken off; not when Python ends."""
        if hasattr(self, "_one_at_a_time") and not _ends():
            self._give_connection_back()


def _keeps_state(reason: str) -> bool:
    kind = class_of(reason)
    return kind is not None and issubclass(kind, KeepsState)


def _log() -> str:
    """Name the daemon's log; where its folder is gone, that is no reason to stop."""
    with suppress(NoDaemon):
        return str(log_path())
    return "its log"
