"""Reads object stores for a forked process, in a helper process that was started fresh.

obstore runs on threads that a fork does not copy, and it cannot be started twice in a process: in a
child of a process that has read, every request would wait forever. So such a child starts a helper
and passes its requests on. This costs a process (0.2 s, once) and a copy of the data.

Requests and answers are pickled, preceded by their length, and carry a number: many are under way
at a time. The helper ends when its input does, that is, with the process it reads for.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any

from joader.errors import ReadFailed

_LENGTH_BYTES = 8
_MOST_REQUESTS = 128  # at a time; each may read many objects at once


class RemoteReader:
    """The helper, as seen by the process that it reads for."""

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The modules of this process, wherever it found them.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._waiting: dict[int, Future[Any]] = {}
        self._last = 0
        self._lock = threading.Lock()
        self.ended = False
        threading.Thread(target=self._receive, name="joader-remote", daemon=True).start()
        weakref.finalize(self, _end, self._process, os.getpid())

    def call(self, files: Any, method: str, *arguments: Any) -> Any:
        """Return what a method of these files returns in the helper, or raise what it raises."""
        answer: Future[Any] = Future()
        body = pickle.dumps((pickle.dumps(files), method, arguments))
        assert self._process.stdin is not None
        with self._lock:
            self._last += 1
            self._waiting[self._last] = answer
            try:
                _send(self._process.stdin, self._last, body)
            except OSError:
                self.ended = True
            if self.ended:  # even if it could be sent, no answer will come
                self._give_up()
        return answer.result()

    def _receive(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            while (found := _received(answers)) is not None:
                number, body = found
                error, value = pickle.loads(body)
                answer = self._waiting.pop(number)
                if error is None:
                    answer.set_result(value)
                else:
                    answer.set_exception(error)
        with self._lock:
            self._give_up()

    def _give_up(self) -> None:
        self.ended = True
        while self._waiting:
            self._waiting.popitem()[1].set_exception(
                ReadFailed(
                    f"process {self._process.pid}, which reads object stores for this forked one, "
                    "has exited; try again"
                )
            )


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if os.getpid() != owner:  # a child's copy: what is in its buffer must not be sent twice
        return
    assert process.stdin is not None
    with suppress(OSError):  # it has died with an unread request in the pipe
        process.stdin.close()
    process.kill()  # processes forked in the meantime may hold its input open
    process.wait()


def _send(pipe: IO[bytes], number: int, body: bytes) -> None:
    head = number.to_bytes(_LENGTH_BYTES, "big") + len(body).to_bytes(_LENGTH_BYTES, "big")
    pipe.write(head + body)
    pipe.flush()


def _received(pipe: IO[bytes]) -> tuple[int, bytes] | None:
    """Return the next number and body; None at the end."""
    head = pipe.read(2 * _LENGTH_BYTES)
    if len(head) < 2 * _LENGTH_BYTES:
        return None
    number, length = (int.from_bytes(part, "big") for part in (head[:8], head[8:]))
    body = pipe.read(length)
    return (number, body) if len(body) == length else None


@lru_cache(maxsize=64)
def _files(pickled: bytes) -> Any:
    return pickle.loads(pickled)


def _that_travels(error: Exception) -> Exception:
    """Return an error that can be pickled: as itself if possible, otherwise as its text.

    Otherwise this request, and all later ones, would never be answered.
    """
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ReadFailed(f"{type(error).__name__}: {error}")
    return error


def serve() -> None:
    """Run the helper until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process it reads for
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not be mistaken for an answer
    lock = threading.Lock()

    def answer(number: int, body: bytes) -> None:
        try:
            pickled, method, arguments = pickle.loads(body)
            told = pickle.dumps((None, getattr(_files(pickled), method)(*arguments)))
        except Exception as error:
            told = pickle.dumps((_that_travels(error), None))
        with lock:
            _send(answers, number, told)

    with ThreadPoolExecutor(_MOST_REQUESTS) as pool:
        while (found := _received(sys.stdin.buffer)) is not None:
            pool.submit(answer, *found)
