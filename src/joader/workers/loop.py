"""The loop of one worker process: take a row, run the user's code, write the sample to its slot.

A worker is forked from its job's nursery (nursery.py), so it has all the job had: modules with
their state, environment, `__main__`, open files. It has three descriptors of its own: its socket to
the daemon, the arena, writable, and its desk, where it notes what it works on. It ends when the
socket does, with all the processes it has started, so none is left behind.

Rows are prepared in the main thread, as torch's workers do: signals, SQLite and other things that
belong to a thread then work. Another thread listens, so that the process ends with its daemon
whatever the user's code does, and hands back what it has not begun.

Rows come by the chunk, which is one message, and are reported by the chunk (outbox.py): with images
of 32 x 32 a message costs as much as the image. Rows of a storage that come together are read
together.

The job's own parts (`Finish`) of a sample that is still in this worker's hands are done in the same
visit, right after the sample is in its slot; each works on a copy of its own, so that what one
edits in place reaches neither the cache nor another. Of a row that is prepared whole, only what the
own part gives is written to a slot.

A process that the user's code forks has none of this: no socket, no arena, and it ends where it
would come back to this loop.

Owner of a slot from `Prepare` (or `Finish`, `Place`) to the answer: this worker, alone. Not here:
which row is next (engine), births (nursery.py).
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from secrets import randbits
from typing import Any, NamedTuple, NoReturn

from msgspec.structs import replace

from joader.errors import ConnectionLost
from joader.memory import Arena, Layout, Parcel, pack, read
from joader.messages import (
    Compare,
    Compared,
    Drop,
    Failed,
    Finish,
    HandBack,
    Place,
    Prepare,
    Prepared,
    Sized,
    Stop,
)
from joader.messages.work import TIMES
from joader.recipe.parts import OwnPart, SharedPart, step_names
from joader.recipe.randomness import key_of, start_random_numbers
from joader.recipe.watch import Signs, Watch
from joader.schedule.limits.pace import MOST_CHUNK
from joader.schedule.work.orders import Own, Row, own_parts_of, rows_of
from joader.wire import Channel
from joader.workers.comparison import compared
from joader.workers.complaint import complaint
from joader.workers.desk import LOADING, READING, WRITING, Desk
from joader.workers.forks import end_group
from joader.workers.outbox import HELD_S, REPORT_S, Outbox, Reply
from joader.workers.raw_forms import RawForms
from joader.workers.scratch import Scratch

# Prepared samples remembered for own parts that were sent before the pool knew them prepared: more
# than a worker can have answered meanwhile.
RECENT = 4 * MOST_CHUNK


class Slot(NamedTuple):
    """Where to write what had no room."""

    sample: int
    offset: int
    size_bytes: int


Order = Row | Own | Slot | Compare
NOTHING: Mapping[int, Any] = {}


class Worker:
    """One job's code, and the slots it writes to."""

    def __init__(
        self,
        channel: Channel[Any],
        arena: Arena,
        desk: Desk,
        shared: SharedPart,
        own: OwnPart,
    ) -> None:
        """Serve the daemon behind a channel with a recipe's parts."""
        self._channel, self._arena, self._desk = channel, arena, desk
        self._shared, self._own = shared, own
        self._process = os.getpid()
        self._ready_to_work: Callable[[], None] | None = None  # what is to be done before all else
        self._watch: Watch | None = None  # of the first rows
        self._shared_step, self._own_step = self._begins(shared), self._begins(own)
        self._chunks: SimpleQueue[Sequence[Order]] = SimpleQueue()  # from the thread that listens
        self._waiting: set[int] = set()  # not begun
        # Chunks that came and chunks that were done; each is counted by one thread alone.
        self._came = self._done = 0
        self._unplaced: dict[int, Parcel] = {}
        self._followers: dict[int, list[Own]] = {}  # by their source, while it is in our hands
        self._recent: dict[int, tuple[int, Prepared]] = {}  # prepared last, with their offsets
        self._lock = threading.Lock()  # of the two above
        self._outbox = Outbox(channel)
        self._raws = RawForms(arena, shared, self._outbox)
        self._scratch = Scratch()

    def start_as(self, number: int, workers: int, signs: Signs) -> None:
        """Get ready before the first row, as torch's worker of this number of so many.

        Rows are read elsewhere if the dataset shows any of these signs.
        """

        def start() -> None:
            self._shared.start(number, workers, seed=randbits(63))
            if any(signs):
                self._watch = Watch(self._shared.dataset, signs)

        self._ready_to_work = start

    def serve(self) -> NoReturn:
        """Do what the daemon says until it is gone."""
        self._outbox.start_clock()
        threading.Thread(target=self._listen, name="joader", daemon=True).start()
        while True:
            self.work()

    def work(self) -> None:
        """Wait for a chunk, and do it."""
        chunk = self._chunks.get()
        read = self._read_together(chunk)
        for order in chunk:
            if not isinstance(order, Slot):
                try:
                    self._waiting.remove(order.sample)
                except KeyError:
                    continue  # handed back meanwhile
            self._do(order, read)
            if self._outbox.flush(after_s=REPORT_S):
                _flush_streams()
        self._outbox.flush()
        self._done += 1
        _flush_streams()

    # The thread that listens. It never runs user code, nor waits for the one that does.

    def _listen(self) -> None:
        while True:
            try:
                # While there is work, what has waited for long is sent from here: the row after it
                # may take for ever.
                while self._came > self._done and not self._channel.comes(HELD_S):
                    self._outbox.flush(after_s=HELD_S)
                self.listen_to(self._channel.receive())
            except ConnectionLost:  # while it waits, or while it answers
                end_group()

    def listen_to(self, message: Any) -> None:
        """Take in one message."""
        match message:
            case Stop():
                end_group()
            case HandBack():
                self._hand_back()
            case Prepare():
                rows = rows_of(message)
                if message.at_once:
                    self._shared.read_at_once(message.at_once)
                for row in rows:
                    self._followers[row.sample] = []
                    if row.raw_offset < 0:
                        self._shared.expect(row.row)
                self._take(rows)
            case Finish():
                with self._lock:
                    each = [
                        own if own.layout else self._when_ready(own)
                        for own in own_parts_of(message)
                    ]
                self._take([own for own in each if own is not None])
            case Compare():
                self._take([message])
            case Place():
                slots = zip(message.samples, message.offsets, message.sizes, strict=True)
                self._put_chunk([Slot(*slot) for slot in slots])
            case Drop():
                # At once: its number may be another sample's before what is queued is done.
                for sample in message.samples:
                    self._unplaced.pop(sample, None)
                    self._followers.pop(sample, None)
                    self._raws.forget(sample)

    def _take(self, chunk: Sequence[Row | Own | Compare]) -> None:
        if chunk:
            self._waiting.update([order.sample for order in chunk])
            self._put_chunk(chunk)

    def _put_chunk(self, chunk: Sequence[Order]) -> None:
        self._came += 1
        self._chunks.put(chunk)

    def _hand_back(self) -> None:
        """Give back what was not begun: what is taken out of the set here, not in its turn."""
        back = []
        with self._lock:
            for sample in list(self._waiting):
                with suppress(KeyError):
                    self._waiting.remove(sample)
                    back += [sample, *(o.sample for o in self._followers.pop(sample, ()))]
        self._outbox.give_back(tuple(back))

    # The thread that works.

    def _do(self, first: Order, read: Mapping[int, Any]) -> None:
        """Do an order, and all own parts that waited for it."""
        orders = deque([first])
        while orders:
            order = orders.popleft()
            begun = time.monotonic()
            reply = self._reply(order, read)
            with self._lock:
                followers = self._note(order, reply)
            self._outbox.add(reply, isinstance(order, Own), time.monotonic() - begun)
            orders += followers

    def _read_together(self, chunk: Sequence[Order]) -> Mapping[int, Any]:
        """Read the rows of a chunk, by sample; none where one of them cannot be read."""
        if len(chunk) < 2 or not self._shared.reads_many:
            return NOTHING
        orders = [order for order in chunk if isinstance(order, Row) and order.raw_offset < 0]
        if not orders:
            return NOTHING
        begun = time.monotonic()
        self._desk.begin(orders[0].sample, READING)
        try:
            self._get_ready()
            rows = self._shared.read([order.row for order in orders])
            return {order.sample: row for order, row in zip(orders, rows, strict=True)}
        except Exception:  # each is read by itself then, and says what is wrong with it
            return NOTHING
        finally:
            self._desk.end()
            self._outbox.spent(time.monotonic() - begun)
            self._outbox.read(time.monotonic() - begun, len(orders))

    def _reply(self, message: Order, read: Mapping[int, Any] = NOTHING) -> Reply:
        """Prepare, finish, or place what was too big; `read` are rows that were read before."""
        self._desk.begin(message.sample, READING)
        try:
            match message:
                case Row(whole=True):
                    return self._prepare_whole(message, read)
                case Row():
                    return self._prepare(message, read)
                case Own():
                    return self._finish(message)
                case Compare():
                    self._get_ready()
                    return compared(message, self._shared, self._shared_step, self._arena)
                case Slot():
                    return self._put(message)
        except BaseException as error:  # user code may raise anything, SystemExit included
            self._raws.forget(message.sample)
            return Failed(message.sample, complaint(error, self._desk.at(), __file__))
        finally:
            if os.getpid() != self._process:
                os._exit(1)  # forked by user code, and come back from it
            self._desk.end()

    def _note(self, order: Order, reply: Reply) -> list[Own]:
        """Note where a sample lies now, and return the own parts that waited for it."""
        if isinstance(reply, Sized | Compared) or isinstance(order, Own | Compare):
            return []
        followers = self._followers.pop(order.sample, [])
        self._recent.pop(order.sample, None)
        if isinstance(reply, Failed):
            return []
        self._recent[order.sample] = (order.offset, reply)
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return [_after(follower, order.offset, reply) for follower in followers]

    def _when_ready(self, order: Own) -> Own | None:
        """Return the own part if its source is in its slot; else keep it until it is."""
        if order.source in self._followers:
            self._followers[order.source].append(order)
        elif order.source in self._recent:
            return _after(order, *self._recent[order.source])
        return None  # its source could not be prepared, which was said

    def _get_ready(self) -> None:
        if self._ready_to_work is not None:
            self._desk.step(LOADING)
            self._ready_to_work()
            self._ready_to_work = None
            self._desk.step(READING)

    def _prepare(self, order: Row, read: Mapping[int, Any]) -> Prepared | Sized:
        self._get_ready()
        slot = self._arena.slot(order.offset, order.size_bytes) if order.offset >= 0 else None
        sample = pack(self._prepared(order, slot, read))
        return self._placed(order.sample, sample, order.offset, order.size_bytes)

    def _prepare_whole(self, order: Row, read: Mapping[int, Any]) -> Prepared | Sized:
        self._get_ready()
        sample = pack(self._prepared(order, self._scratch.room, read))
        room = self._scratch.put(sample)
        begun = time.monotonic()
        finished = self._finished(order, sample.layout, room)
        self._outbox.own_part(time.monotonic() - begun)
        return self._placed(order.sample, finished, order.offset, order.size_bytes)

    def _prepared(self, order: Row, slot: Any, read: Mapping[int, Any]) -> Any:
        if order.sample in read and not self._shared.reads_apart:
            return self._shared.made_of(read[order.sample], slot, self._shared_step)
        row = self._raws.value(order, read) if self._shared.reads_apart else None
        if not self._shared.deterministic:
            start_random_numbers(key_of(order.key, order.position, order.times))
        if self._shared.reads_apart:
            return self._shared.made_of(row, slot, self._shared_step)
        prepare = partial(self._shared.prepare, order.row, slot, self._shared_step)
        if self._watch is None:
            return prepare()
        sample, seen = self._watch.watch(prepare)
        if seen:
            self._watch = None
        return sample

    def _finish(self, order: Own) -> Prepared | Sized:
        self._get_ready()
        layout = Layout.from_bytes(order.layout)
        slot = self._arena.slot(order.source_offset, layout.size_bytes)
        finished = self._finished(order, layout, slot)
        return self._placed(order.sample, finished, order.offset, order.size_bytes)

    def _finished(self, order: Own | Row, layout: Layout, slot: Any) -> Parcel:
        """Do the job's own part on what lies in a slot."""
        own = self._own
        sample = read(layout, slot, allow_pickle=True, lent=own.built_in)
        key = key_of(order.key, order.position, order.times & TIMES)
        if not own.built_in:
            start_random_numbers(key)
        return pack(own.finish(sample, key, self._own_step))

    def _placed(self, sample: int, parcel: Parcel, offset: int, room: int) -> Prepared | Sized:
        self._desk.step(WRITING)
        size = parcel.layout.size_bytes
        if offset < 0 or size > room:
            # It may lie in an array that the user's code fills again for its next row, in a slot
            # that will be another's, or in the scratch.
            self._unplaced[sample] = parcel.kept()
            return Sized((sample,), (max(1, size),))
        return self._write(sample, parcel, offset)

    def _put(self, order: Slot) -> Prepared:
        return self._write(order.sample, self._unplaced.pop(order.sample), order.offset)

    def _write(self, sample: int, parcel: Parcel, offset: int) -> Prepared:
        size = parcel.layout.size_bytes
        parcel.write(self._arena.slot(offset, size))
        return Prepared(
            (sample,),
            (max(1, size),),
            (parcel.layout.to_bytes(),),
            raw_sizes=self._raws.report(sample, self._unplaced),
        )

    def _begins(self, part: SharedPart | OwnPart) -> Callable[[int], None] | None:
        """Return who is to be told of each step of a part, if it has any."""
        note, steps = self._desk.step, step_names(part)
        return (lambda number: note(steps[number])) if steps else None


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):  # what user code has printed; it may be anything
        with suppress(Exception):
            stream.flush()


def _after(order: Own, source_offset: int, source: Prepared) -> Own:
    """Return the order with where its source lies now."""
    return replace(order, source_offset=source_offset, layout=source.layouts[0])
