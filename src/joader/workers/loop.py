"""The loop of one worker process: take a row, run the user's code, write the sample to its slot.

Started by the pool as `python -m joader.workers.loop` with the job's own interpreter and import
path, fresh, never forked from a process that may hold a GPU. It has two descriptors: its socket to
the daemon, and the arena, writable. It ends when the socket does, so none is left behind.

Rows are prepared in threads beside the one that listens, so that the process ends with its daemon
whatever the user's code does. With several (`threads`) rows are prepared side by side, which helps
code that waits (files, network) or releases the GIL; answers go out in the order they are ready.

Owner of a slot from `Cook` (or `PutAt`) to the answer: this worker, alone. Not here: which row is
next (engine), restarts (pool).
"""

import argparse
import os
import pickle
import socket
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joader.errors import ConnectionLost
from joader.memory import Arena, Parcel, pack
from joader.messages import Cook, Cooked, PutAt, RecipeBody, Spoiled, Stop, TooBig, ToWorker
from joader.wire import Channel


class Worker:
    """The user's datasets, by recipe, and the slots they write to."""

    def __init__(self, channel: Channel[Any], arena: Arena) -> None:
        """Serve this daemon."""
        self._channel = channel
        self._arena = arena
        self._bodies: dict[str, bytes] = {}
        self._datasets: dict[str, Any] = {}
        self._unplaced: dict[int, Parcel] = {}
        self._sending = threading.Lock()
        self._loading = threading.Lock()

    def serve(self, threads: int) -> None:
        """Do what the daemon says until it is gone."""
        with ThreadPoolExecutor(threads, thread_name_prefix="joader") as pool:
            while True:
                try:
                    message = self._channel.receive()
                except ConnectionLost:
                    os._exit(0)  # user code may hang in a thread; nobody waits for it any more
                if isinstance(message, Stop):
                    os._exit(0)
                if isinstance(message, RecipeBody):
                    self._bodies[message.recipe] = message.body
                    self._datasets.pop(message.recipe, None)
                else:
                    pool.submit(self.answer, message)

    def answer(self, message: Cook | PutAt) -> None:
        """Prepare a row, or place one that was too big, and report."""
        if isinstance(message, PutAt) and message.offset < 0:
            self._unplaced.pop(message.sample, None)
            return
        reply: Cooked | TooBig | Spoiled
        try:
            reply = self._cook(message) if isinstance(message, Cook) else self._put(message)
        except BaseException as error:  # user code may raise anything, SystemExit included
            reply = Spoiled(message.sample, _described(error))
        with self._sending:
            self._channel.send(reply)

    def _cook(self, order: Cook) -> Cooked | TooBig:
        parcel = pack(self._dataset(order.recipe)[order.row])
        size = parcel.layout.size_bytes
        if order.offset < 0 or size > order.size_bytes:
            self._unplaced[order.sample] = parcel
            return TooBig(order.sample, max(1, size))
        return self._write(order.sample, parcel, order.offset)

    def _put(self, order: PutAt) -> Cooked:
        return self._write(order.sample, self._unplaced.pop(order.sample), order.offset)

    def _write(self, sample: int, parcel: Parcel, offset: int) -> Cooked:
        parcel.write(self._arena.slot(offset, parcel.layout.size_bytes))
        return Cooked(sample, parcel.layout.to_bytes())

    def _dataset(self, recipe: str) -> Any:
        with self._loading:
            if recipe not in self._datasets:
                # From the same user, checked by the daemon, and only in this process.
                self._datasets[recipe] = pickle.loads(self._bodies[recipe])
            return self._datasets[recipe]


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
    options = parser.parse_args()
    if sys.path and sys.path[0] == os.getcwd():
        sys.path.pop(0)  # what `-m` put there; the job's own path follows in PYTHONPATH
    channel: Channel[Any] = Channel(socket.socket(fileno=options.socket), ToWorker)
    arena = Arena.attach(options.arena, options.arena_bytes, writable=True)
    Worker(channel, arena).serve(options.threads)


if __name__ == "__main__":
    main()
