"""The loop of one worker process: take a row, run the user's code, write the sample to its slot.

Started by the pool as `python -m joader.workers.loop` with the job's own interpreter and import
path, fresh, never forked from a process that may hold a GPU. It has two descriptors: its socket to
the daemon, and the arena, writable. It ends when the socket does, so none is left behind.

Rows are prepared in threads beside the one that listens, so that the process ends with its daemon
whatever the user's code does. With several (`threads`) rows are prepared side by side, which helps
code that waits (files, network) or releases the GIL; answers go out in the order they are ready.

Jobs' own parts (`Finish`) of a sample that is still in this worker's hands are done in the same
visit, right after the sample is in its slot; each works on a copy of its own, so that what one
edits in place reaches neither the cache nor another.

Owner of a slot from `Cook` (or `Finish`, `PutAt`) to the answer: this worker, alone. Not here:
which row is next (engine), restarts (pool).
"""

import argparse
import os
import pickle
import socket
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from secrets import randbits
from typing import Any

from joader.errors import ConnectionLost
from joader.memory import Arena, Layout, Parcel, pack, read
from joader.messages import (
    Cook,
    Cooked,
    Finish,
    OwnBody,
    PutAt,
    RecipeBody,
    Spoiled,
    Stop,
    TooBig,
    ToWorker,
)
from joader.wire import Channel
from joader.workers.parts import SharedPart
from joader.workers.randomness import start_random_numbers

# Prepared samples remembered for own parts that were sent before the pool knew them prepared: more
# than a worker can have answered meanwhile.
RECENT = 256


class Worker:
    """What jobs share, by recipe, jobs' own parts, and the slots they write to."""

    def __init__(self, channel: Channel[Any], arena: Arena, number: int, workers: int) -> None:
        """Serve this daemon, as one of so many workers."""
        self._number = number
        self._workers = workers
        self._channel = channel
        self._arena = arena
        self._code: dict[str | int, bytes] = {}  # by recipe, or by job
        self._loaded: dict[str | int, Any] = {}
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
                    os._exit(0)  # user code may hang in a thread; nobody waits for it any more
                match message:
                    case Stop():
                        os._exit(0)
                    case RecipeBody():
                        self._learn(message.recipe, message.body)
                    case OwnBody():
                        self._learn(message.job, message.body)
                    case Finish() if not message.layout:
                        with self._lock:
                            ready = self._when_ready(message)
                        if ready is not None:
                            pool.submit(self.answer, ready)
                    case _:
                        if isinstance(message, Cook):
                            self._followers[message.sample] = []
                        pool.submit(self.answer, message)

    def answer(self, message: Cook | Finish | PutAt) -> None:
        """Prepare, finish, or place what was too big; report; then do what waited for it."""
        if isinstance(message, PutAt) and message.offset < 0:
            self._unplaced.pop(message.sample, None)
            self._followers.pop(message.sample, None)
            return
        reply: Cooked | TooBig | Spoiled
        try:
            match message:
                case Cook():
                    reply = self._cook(message)
                case Finish():
                    reply = self._finish(message)
                case PutAt():
                    reply = self._put(message)
        except BaseException as error:  # user code may raise anything, SystemExit included
            reply = Spoiled(message.sample, _described(error))
        with self._lock:
            self._channel.send(reply)
            followers = self._note(message, reply)
        for follower in followers:
            self.answer(follower)

    def _note(self, order: Cook | Finish | PutAt, reply: Cooked | TooBig | Spoiled) -> list[Finish]:
        """Note where a sample lies now, and return the own parts that waited for it."""
        if isinstance(reply, TooBig) or isinstance(order, Finish):
            return []
        followers = self._followers.pop(order.sample, [])
        if isinstance(reply, Spoiled):
            return []
        self._recent.pop(order.sample, None)
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

    def _cook(self, order: Cook) -> Cooked | TooBig:
        shared = self._load(order.recipe)
        slot = self._arena.slot(order.offset, order.size_bytes) if order.offset >= 0 else None
        start_random_numbers(order.key)
        sample = pack(shared.prepare(order.row, slot))
        if slot is not None and sample.layout.size_bytes > order.size_bytes:
            # It will get another slot, and this one may be another's before that: nothing of the
            # sample may lie in it.
            start_random_numbers(order.key)
            sample = pack(shared.prepare(order.row))
        return self._placed(order.sample, sample, order.offset, order.size_bytes)

    def _finish(self, order: Finish) -> Cooked | TooBig:
        own = self._load(order.job)
        layout = Layout.from_bytes(order.layout)
        slot = self._arena.slot(order.source_offset, layout.size_bytes)
        sample = read(layout, slot, allow_pickle=True, lent=own.only_reads)
        start_random_numbers(order.key)
        finished = pack(own.finish(sample, order.key))
        return self._placed(order.sample, finished, order.offset, order.size_bytes)

    def _placed(self, sample: int, parcel: Parcel, offset: int, room: int) -> Cooked | TooBig:
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
        with self._loading:
            self._code[name] = body
            self._loaded.pop(name, None)

    def _load(self, name: str | int) -> Any:
        with self._loading:
            if name not in self._loaded:
                # From the same user, checked by the daemon, and only in this process.
                part = pickle.loads(self._code[name])
                if isinstance(part, SharedPart):
                    part.start(self._number, self._workers, seed=randbits(63))
                self._loaded[name] = part
            return self._loaded[name]


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


def _described(error: BaseException) -> str:
    """Return the traceback without the frames of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(own)]
    return "".join([*lines, *traceback.format_exception_only(error)])


def main() -> None:
    """Run as a process of the pool."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--arena", type=int, required=True)
    parser.add_argument("--arena-bytes", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if sys.path and sys.path[0] == os.getcwd():
        sys.path.pop(0)  # what `-m` put there; the job's own path follows in PYTHONPATH
    channel: Channel[Any] = Channel(socket.socket(fileno=options.socket), ToWorker)
    arena = Arena.attach(options.arena, options.arena_bytes, writable=True)
    Worker(channel, arena, options.number, options.workers).serve(options.threads)


if __name__ == "__main__":
    main()
