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

Whether a row comes out here as another job's worker has made it.

It is prepared with the random numbers of the sample that it is compared with, so that random code
makes the same of it, too. What such code draws from elsewhere is different each time and tells
nothing: values that differ between two preparations here are not compared. An object without a
layout of its own is equal if its pickle is, or if `==` says so; else it counts as different.

A worker's own memory for rows that are prepared whole, between their two parts.

The shared part is written there as it would be to a slot, so that the job's own part gets what it
would get from one: what it may edit in place, it does not share.

Rows as they are stored: read, or taken from memory, and kept for others that prepare them.

If a dataset reads rows apart from preparing them, as joader's own storages do, a row need not be
read again for another way to prepare it: its *raw form* may lie in the arena. And a worker that has
read a row can leave its raw form there. It does so as with a sample that has no slot yet: it keeps
it, says how large it is together with the row's report, and is told where to write it, or that
nobody wants it.

Not here: which raw forms are worth their memory (cache/two_forms.py).
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

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from joader.errors import ConnectionLost
from joader.memory import Arena, Layout, Parcel, objects, pack, read
from joader.memory.contents import contents
from joader.memory.layout import Branch, Leaf, Node, leaves
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
from joader.workers.complaint import complaint
from joader.workers.desk import LOADING, READING, WRITING, Desk
from joader.workers.forks import end_group
from joader.workers.outbox import HELD_S, REPORT_S, Outbox, Reply


class RawForms:
    """The rows that one worker reads."""

    def __init__(self, arena: Arena, shared: SharedPart, outbox: Outbox) -> None:
        """Read for this recipe; say how long that took with the reports of rows."""
        self._arena, self._shared, self._outbox = arena, shared, outbox
        self._kept: dict[int, tuple[int, Parcel]] = {}  # by sample, with their own numbers

    def value(self, order: Row, read_before: Mapping[int, Any]) -> Any:
        """Return a row as it is stored, and keep it if that was asked for."""
        if order.raw_offset >= 0:
            layout = Layout.from_bytes(order.raw_layout)
            slot = self._arena.slot(order.raw_offset, layout.size_bytes)
            return read(layout, slot, allow_pickle=True, lent=self._shared.steps.built_in)
        if order.sample in read_before:
            value = read_before[order.sample]
        else:
            begun = time.monotonic()
            value = self._shared.row(order.row)
            self._outbox.read(time.monotonic() - begun, 1)
        if order.keeps_raw:
            # A step of the user's may change in place what it gets, a dataset what it has given.
            self._kept[order.sample] = order.raw, pack(value).kept()
        return value

    def report(self, sample: int, unplaced: dict[int, Parcel]) -> tuple[int, ...]:
        """Have the raw form of a sample, if it was kept, wait for its slot; return its size."""
        if sample not in self._kept:
            return ()
        raw, parcel = self._kept.pop(sample)
        unplaced[raw] = parcel
        return (max(1, parcel.layout.size_bytes),)

    def forget(self, sample: int) -> None:
        """Let go of what was kept of a sample that will not be reported."""
        self._kept.pop(sample, None)


_LINE_BYTES = 64  # a sample starts at a multiple of this, as in a slot


class Scratch:
    """Room for one sample, as large as the largest so far."""

    def __init__(self) -> None:
        """Start without any."""
        self._room: NDArray[np.uint8] | None = None

    @property
    def room(self) -> NDArray[np.uint8] | None:
        """Where the next sample may be made."""
        return self._room

    def put(self, sample: Parcel) -> NDArray[np.uint8]:
        """Write a sample, which may lie here already, and return where it is."""
        size = max(1, sample.layout.size_bytes)
        if self._room is None or self._room.size < size:
            memory = np.empty(size + _LINE_BYTES, np.uint8)
            start = -memory.ctypes.data % _LINE_BYTES
            self._room = memory[start : start + size]
        sample.write(self._room)
        return self._room


_OBJECT = "object"
_TREE = -1  # stands for the types and shapes of all values


class _Values(NamedTuple):
    """A sample taken apart."""

    tree: Node
    kinds: list[str]
    contents: list[NDArray[np.uint8]]

    @classmethod
    def of(cls, layout: Layout, slot: NDArray[np.uint8]) -> "_Values":
        """Look at what lies in a slot."""
        kinds = [leaf.kind for leaf in leaves(layout.root)]
        return cls(_without_sizes_of_objects(layout.root), kinds, list(contents(layout, slot)))

    def differ_from(self, other: "_Values") -> set[int]:
        """Return the places of values that differ."""
        if self.tree != other.tree:
            return {_TREE}
        pairs = zip(self.kinds, self.contents, other.contents, strict=True)
        return {place for place, pair in enumerate(pairs) if not _equal(*pair)}

    def objects(self) -> set[int]:
        """Return the places of objects without a layout."""
        return {place for place, kind in enumerate(self.kinds) if kind == _OBJECT}


def compared(
    order: Compare, shared: SharedPart, step: Callable[[int], None] | None, arena: Arena
) -> Compared:
    """Prepare a row once more, and compare it with what lies in its slot."""

    def made() -> _Values:
        if not shared.deterministic:
            start_random_numbers(key_of(order.key, order.position, order.times))
        parcel = pack(shared.prepare(order.row, None, step))
        slot = np.zeros(max(1, parcel.layout.size_bytes), np.uint8)
        parcel.write(slot)
        return _Values.of(parcel.layout, slot)

    layout = Layout.from_bytes(order.layout)
    mine, theirs = made(), _Values.of(layout, arena.slot(order.offset, layout.size_bytes))
    different = mine.differ_from(theirs)
    if different and order.fresh:
        different -= mine.differ_from(made()) - mine.objects()
    return Compared(order.job, order.sample, not different)


def _without_sizes_of_objects(node: Node) -> Node:
    """Return a tree in which objects that are pickled otherwise look alike."""
    if isinstance(node, Branch):
        children = tuple(map(_without_sizes_of_objects, node.children))
        return Branch(node.kind, node.names, children)
    return Leaf(_OBJECT) if node.kind == _OBJECT else node


def _equal(kind: str, one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    if np.array_equal(one, other) or kind != _OBJECT:
        return np.array_equal(one, other)
    try:
        found = [objects.load(data.tobytes(), allow_pickle=True) for data in (one, other)]
        return bool(found[0] == found[1])
    except Exception:  # any code of their classes may run here
        return False


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
