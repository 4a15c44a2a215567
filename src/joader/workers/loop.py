"""The loop of one worker process: take a row, run the user's code, write the sample to its slot.

Started by the pool as `python -m joader.workers.loop` with the job's own interpreter and import
path, fresh, never forked from a process that may hold a GPU. It has three descriptors: its socket
to the daemon, the arena, writable, and its desk, where it notes what it is at. It ends when the
socket does, with all the processes it has started, so none is left behind.

Rows are prepared in threads beside the one that listens, so that the process ends with its daemon
whatever the user's code does. With several (`threads`) rows are prepared side by side, which helps
code that waits (files, network) or releases the GIL; answers go out in the order they are ready.

Rows of a storage that come together are read together; what takes a moment is reported together,
once in REPORT_S: with images of 32 x 32 a message costs as much as the image.

Jobs' own parts (`Finish`) of a sample that is still in this worker's hands are done in the same
visit, right after the sample is in its slot; each works on a copy of its own, so that what one
edits in place reaches neither the cache nor another.

A process that the user's code forks has none of this: no socket, no arena, and it ends where it
would come back to this loop.

Owner of a slot from `Cook` (or `Finish`, `PutAt`) to the answer: this worker, alone. Not here:
which row is next (engine), restarts (pool).
"""

import argparse
import faulthandler
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from secrets import randbits
from typing import Any, NamedTuple, NoReturn

from joader.errors import ConnectionLost
from joader.memory import Arena, Layout, Parcel, pack, read
from joader.messages import (
    Cook,
    Cooked,
    CookedEach,
    Finish,
    HandBack,
    NotBegun,
    OwnBody,
    PutAt,
    RecipeBody,
    Spoiled,
    Stop,
    TooBig,
    ToWorker,
)
from joader.recipe.parts import SharedPart, step_names
from joader.recipe.randomness import start_random_numbers
from joader.wire import Channel
from joader.workers.complaint import complaint
from joader.workers.desk import LOADING, READING, SIGNAL, WRITING, Desk

# Prepared samples remembered for own parts that were sent before the pool knew them prepared: more
# than a worker can have answered meanwhile.
RECENT = 256
# How long a report may wait for the next one.
REPORT_S = 0.0025

Order = Cook | Finish | PutAt
Reply = Cooked | TooBig | Spoiled
NOTHING: Mapping[int, Any] = {}


class Worker:
    """What jobs share, by recipe, jobs' own parts, and the slots they write to."""

    def __init__(
        self, channel: Channel[Any], arena: Arena, desk: Desk, number: int, workers: int
    ) -> None:
        """Serve this daemon, as one of so many workers."""
        self._desk = desk
        self._process = os.getpid()
        self._number = number
        self._workers = workers
        self._channel = channel
        self._arena = arena
        self._code: dict[str | int, bytes] = {}  # by recipe, or by job
        self._loaded: dict[str | int, _Loaded] = {}
        self._waiting: set[int] = set()  # not begun
        self._unplaced: dict[int, Parcel] = {}
        self._followers: dict[int, list[Finish]] = {}  # by their source, while it is in our hands
        self._recent: dict[int, tuple[int, Cooked]] = {}  # prepared last, with their offsets
        self._lock = threading.Lock()  # of the two above, and of what is sent
        self._loading = threading.Lock()

    def serve(self, threads: int) -> None:
        """Do what the daemon says until it is gone."""
        with ThreadPoolExecutor(threads, thread_name_prefix="joader") as pool:
            while True:
                try:
                    message = self._channel.receive()
                except ConnectionLost:
                    _end()
                match message:
                    case Stop():
                        _end()
                    case RecipeBody():
                        self._learn(message.recipe, message.body)
                    case OwnBody():
                        self._learn(message.job, message.body)
                    case HandBack():
                        self._hand_back()
                    case Finish() if not message.layout:
                        with self._lock:
                            ready = self._when_ready(message)
                        if ready is not None:
                            self._waiting.add(ready.sample)
                            pool.submit(self._answer_in_turn, ready)
                    case PutAt() if message.offset < 0:
                        # At once: its number may be another sample's before what is queued is done.
                        self._unplaced.pop(message.sample, None)
                        self._followers.pop(message.sample, None)
                    case PutAt():
                        pool.submit(self.answer, message)
                    case Cook():
                        orders = self._that_come_together(message)
                        share = -(-len(orders) // threads)
                        for first in range(0, len(orders), share):
                            pool.submit(self._answer_in_turn, *orders[first : first + share])
                    case _:
                        self._waiting.add(message.sample)
                        pool.submit(self._answer_in_turn, message)

    def _that_come_together(self, first: Cook) -> list[Cook]:
        """Return an order with those that have come after it, if they are read together."""
        orders = [first]
        loaded = self._loaded.get(first.recipe)
        if loaded is not None and loaded.part.reads_many:
            with suppress(ConnectionLost):  # it is seen again when there is nothing to do
                orders += self._channel.receive_ready(
                    lambda next_: isinstance(next_, Cook) and next_.recipe == first.recipe
                )
        for order in orders:
            self._followers[order.sample] = []
            self._waiting.add(order.sample)
            if loaded is not None:
                loaded.part.expect(order.row)
        return orders

    def _hand_back(self) -> None:
        """Give back what was not begun: what is taken out of the set here, not in its turn."""
        back = []
        with self._lock:
            for sample in list(self._waiting):
                with suppress(KeyError):
                    self._waiting.remove(sample)
                    back += [sample, *(o.sample for o in self._followers.pop(sample, ()))]
            self._channel.send(NotBegun(tuple(back)))

    def _answer_in_turn(self, *messages: Cook | Finish) -> None:
        """Answer what was not handed back meanwhile."""
        read = self._read_together(messages)
        done: list[tuple[Order, Reply]] = []
        since = time.monotonic()
        for message in messages:
            try:
                self._waiting.remove(message.sample)
            except KeyError:
                continue  # handed back
            done.append((message, self._reply(message, read)))
            if self._followers.get(message.sample) or time.monotonic() - since > REPORT_S:
                self._report(done)
                done, since = [], time.monotonic()
        self._report(done)

    def answer(self, message: Order) -> None:
        """Do what is ordered and all own parts that wait for it, and report."""
        self._report([(message, self._reply(message))])

    def _report(self, done: list[tuple[Order, Reply]]) -> None:
        """Report what is done, and do all own parts that waited for it.

        Reports wait for built-in own parts, which take a moment, and go out in one write; nobody
        waits for the code of a user.
        """
        orders: deque[Finish] = deque()
        replies: list[Reply] = []
        while done:
            with self._lock:
                for order, reply in done:
                    orders += self._note(order, reply)
                    replies.append(reply)
                if not orders or not self._is_quick(orders[0]):
                    self._channel.send(*_joined(replies))
                    replies.clear()
            done = []
            if orders:
                follower = orders.popleft()
                done = [(follower, self._reply(follower))]

    def _read_together(self, messages: tuple[Cook | Finish, ...]) -> dict[int, Any]:
        """Read the rows of several orders, by sample; none where one of them cannot be read."""
        orders = [message for message in messages if isinstance(message, Cook)]
        if len(orders) < 2:
            return {}
        self._desk.begin(orders[0].sample, READING)
        try:
            part = self._load(orders[0].recipe).part
            rows = part.read([order.row for order in orders])
            return {order.sample: row for order, row in zip(orders, rows, strict=True)}
        except Exception:  # each is read by itself then, and says what is wrong with it
            return {}
        finally:
            self._desk.end()

    def _is_quick(self, order: Finish) -> bool:
        own = self._loaded.get(order.job)
        return own is not None and bool(own.part.built_in)

    def _reply(self, message: Order, read: Mapping[int, Any] = NOTHING) -> Reply:
        """Prepare, finish, or place what was too big; `read` are rows that were read before."""
        self._desk.begin(message.sample, READING)
        try:
            match message:
                case Cook():
                    return self._cook(message, read)
                case Finish():
                    return self._finish(message)
                case PutAt():
                    return self._put(message)
        except BaseException as error:  # user code may raise anything, SystemExit included
            return Spoiled(message.sample, complaint(error, self._desk.at(), __file__))
        finally:
            if os.getpid() != self._process:
                os._exit(1)  # forked by user code, and come back from it
            self._desk.end()

    def _note(self, order: Order, reply: Reply) -> list[Finish]:
        """Note where a sample lies now, and return the own parts that waited for it."""
        if isinstance(reply, TooBig) or isinstance(order, Finish):
            return []
        followers = self._followers.pop(order.sample, [])
        self._recent.pop(order.sample, None)
        if isinstance(reply, Spoiled):
            return []
        self._recent[order.sample] = (order.offset, reply)
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return [_after(follower, order.offset, reply) for follower in followers]

    def _when_ready(self, order: Finish) -> Finish | None:
        """Return the own part if its source is in its slot; else keep it until it is."""
        if order.source in self._followers:
            self._followers[order.source].append(order)
        elif order.source in self._recent:
            return _after(order, *self._recent[order.source])
        return None  # its source could not be prepared, which was said

    def _cook(self, order: Cook, read: Mapping[int, Any]) -> Cooked | TooBig:
        loaded = self._loaded.get(order.recipe) if order.sample in read else None
        loaded = loaded or self._load(order.recipe)
        shared: SharedPart = loaded.part
        begins = loaded.begins
        slot = self._arena.slot(order.offset, order.size_bytes) if order.offset >= 0 else None
        if order.sample in read:
            sample = pack(shared.made_of(read[order.sample], slot, begins))
        else:
            sample = pack(self._prepared(order, shared, slot, begins))
        too_big = sample.layout.size_bytes > order.size_bytes
        if slot is not None and too_big and sample.lies_in(slot):
            # It will get another slot, and this one may be another's before that: nothing of the
            # sample may lie in it.
            sample = pack(self._prepared(order, shared, None, begins))
        return self._placed(order.sample, sample, order.offset, order.size_bytes)

    def _prepared(
        self, order: Cook, shared: SharedPart, slot: Any, begins: Callable[[int], None] | None
    ) -> Any:
        if not shared.deterministic:
            start_random_numbers(order.key)
        return shared.prepare(order.row, slot, begins)

    def _finish(self, order: Finish) -> Cooked | TooBig:
        loaded = self._load(order.job)
        own = loaded.part
        layout = Layout.from_bytes(order.layout)
        slot = self._arena.slot(order.source_offset, layout.size_bytes)
        sample = read(layout, slot, allow_pickle=True, lent=own.built_in)
        if not own.built_in:
            start_random_numbers(order.key)
        finished = pack(own.finish(sample, order.key, loaded.begins))
        return self._placed(order.sample, finished, order.offset, order.size_bytes)

    def _placed(self, sample: int, parcel: Parcel, offset: int, room: int) -> Cooked | TooBig:
        self._desk.step(WRITING)
        size = parcel.layout.size_bytes
        if offset < 0 or size > room:
            self._unplaced[sample] = parcel
            return TooBig(sample, max(1, size))
        return self._write(sample, parcel, offset)

    def _put(self, order: PutAt) -> Cooked:
        return self._write(order.sample, self._unplaced.pop(order.sample), order.offset)

    def _write(self, sample: int, parcel: Parcel, offset: int) -> Cooked:
        size = parcel.layout.size_bytes
        parcel.write(self._arena.slot(offset, size))
        return Cooked(sample, parcel.layout.to_bytes(), max(1, size))

    def _learn(self, name: str | int, body: bytes) -> None:
        """Keep code; without a lock, as who listens must never wait for user code."""
        self._code[name] = body
        if not body:
            forgotten = self._loaded.pop(name, None)
            if forgotten is not None:
                os.close(forgotten.folder)

    def _load(self, name: str | int) -> "_Loaded":
        """Return code ready to run, in the folder where it was loaded."""
        loaded = self._loaded.get(name)
        if loaded is None or loaded.body is not self._code[name]:
            with self._loading:
                loaded = self._loaded.get(name)
                if loaded is None or loaded.body is not self._code[name]:
                    loaded = self._loaded[name] = self._unpickled(self._code[name])
        os.fchdir(loaded.folder)  # the row before may have gone elsewhere
        return loaded

    def _unpickled(self, body: bytes) -> "_Loaded":
        self._desk.step(LOADING)
        # From the same user, checked by the daemon, and only in this process.
        part = pickle.loads(body)
        if isinstance(part, SharedPart):
            part.start(self._number, self._workers, seed=randbits(63))
        folder = os.open(".", os.O_PATH | os.O_CLOEXEC)
        self._desk.step(READING)
        return _Loaded(body, part, self._begins(step_names(part)), folder)

    def _begins(self, steps: list[bytes]) -> Callable[[int], None] | None:
        """Return who is to be told of each step of a part, if it has any."""
        note = self._desk.step
        return (lambda number: note(steps[number])) if steps else None


class _Loaded(NamedTuple):
    """A recipe's or a job's code, ready to run."""

    body: bytes
    part: Any
    begins: Callable[[int], None] | None  # told the number of each step
    folder: int  # a descriptor of where it was loaded


def _joined(replies: list[Reply]) -> list[Reply] | list[CookedEach]:
    """Return reports as one message, if they are all of samples of one layout."""
    first = replies[0] if len(replies) > 1 else None
    if not isinstance(first, Cooked):
        return replies
    samples = []
    for reply in replies:
        if not isinstance(reply, Cooked) or reply.layout is not first.layout:
            return replies
        samples.append(reply.sample)
    return [CookedEach(tuple(samples), first.layout, first.size_bytes)]


def _after(order: Finish, source_offset: int, source: Cooked) -> Finish:
    """Return the order with where its source lies now."""
    return Finish(
        order.sample,
        order.job,
        order.source,
        source_offset,
        source.layout,
        order.offset,
        order.size_bytes,
        order.key,
    )


def _end() -> NoReturn:
    """End at once, with all that user code has started: it may hang, and nobody waits for it."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _let_go(channel: Channel[Any]) -> None:
    """Leave the daemon to the worker, in a process that user code has forked."""
    faulthandler.disable()
    faulthandler.unregister(SIGNAL)
    channel.close()
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):
            # Replaced, not closed: a mapping closes its descriptor once more.
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("/memfd:joader-"):
                os.dup2(nothing, descriptor, inheritable=False)


def main() -> None:
    """Run as a process of the pool."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--arena", type=int, required=True)
    parser.add_argument("--arena-bytes", type=int, required=True)
    parser.add_argument("--desk", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if sys.path and sys.path[0] == os.getcwd():
        sys.path.pop(0)  # what `-m` put there; the job's own path follows in PYTHONPATH
    for descriptor in (options.socket, options.desk):
        os.set_inheritable(descriptor, False)  # programs that user code runs must not keep them
    channel: Channel[Any] = Channel(socket.socket(fileno=options.socket), ToWorker)
    arena = Arena.attach(options.arena, options.arena_bytes, writable=True, forks=False)
    os.close(options.arena)
    desk = Desk.attach(options.desk)
    os.register_at_fork(after_in_child=lambda: _let_go(channel))
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    Worker(channel, arena, desk, options.number, options.workers).serve(options.threads)


if __name__ == "__main__":
    main()
