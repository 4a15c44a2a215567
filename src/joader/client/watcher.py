"""Asks a daemon how it is: what commands and screens show. Nothing here reads samples.

A watcher gets no memory, and a daemon does not stay for it. Kept apart from connection.py, since
commands should start at once, and a job's connection loads what its workers need.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from joader.config import socket_path
from joader.daemon.lifecycle import connected
from joader.errors import BadMessage, ConnectionLost, NoDaemon, OurError, Overdue, Refusal
from joader.messages import (
    PROTOCOL,
    Answers,
    AskExplain,
    AskRun,
    AskStatus,
    Change,
    Explained,
    Hello,
    Refuse,
    Run,
    Status,
    Stop,
)
from joader.statistics import NodeStatistics, RunStatistics, from_json, run_from_json
from joader.wire import Channel, welcomed

_ANSWER_S = 10.0

T = TypeVar("T", bound=msgspec.Struct)


class Watcher:
    """A channel to a daemon that runs."""

    def __init__(self, path: Path | None = None, answer_s: float = _ANSWER_S) -> None:
        """Connect; NoDaemon if none listens, Refusal if it speaks another protocol."""
        self.path = path or socket_path()
        self._answer_s = answer_s
        sock = _socket(self.path)
        sock.settimeout(answer_s)
        try:
            welcome, _ = welcomed(sock, Hello(PROTOCOL, os.getpid(), "watcher"), 0)
        except TimeoutError as error:
            sock.close()
            raise NoDaemon(
                f"the daemon at {self.path} has not answered in {answer_s:.0f} s"
            ) from error
        except BadMessage as error:
            sock.close()
            raise NoDaemon(
                f"what listens at {self.path} is not a daemon we know: {error}"
            ) from error
        except OSError as error:
            sock.close()
            raise ConnectionLost(f"the daemon at {self.path} went away: {error}") from error
        except BaseException:
            sock.close()
            raise
        self.daemon_pid = welcome.pid
        self._channel: Channel[Any] = Channel(sock, Answers | Refuse)

    def status(self) -> NodeStatistics:
        """Return the figures as they are now."""
        return from_json(self._ask(AskStatus(), Status).body)

    def run(self, since: float = 0.0) -> RunStatistics:
        """Return the figures, and their history as far as it is later than `since`."""
        return run_from_json(self.run_as_json(since))

    def run_as_json(self, since: float = 0.0) -> bytes:
        """Return the same as it travels."""
        return self._ask(AskRun(since), Run).body

    def explained(self, one: int, other: int) -> bytes:
        """Return what two jobs share, as JSON."""
        return self._ask(AskExplain(one, other), Explained).body

    def change(self, *, policy: str = "", job: int = 0, weight: float = 0.0) -> NodeStatistics:
        """Choose another policy, or give a job another weight; return the figures after that."""
        return from_json(self._ask(Change(policy, job, weight), Status).body)

    def stop(self) -> None:
        """Tell the daemon to end."""
        self._channel.send(Stop())

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._channel.socket.shutdown(socket.SHUT_RDWR)
        self._channel.close()

    def __enter__(self) -> "Watcher":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.close()

    def _ask(self, question: msgspec.Struct, kind: type[T]) -> T:
        try:
            self._channel.send(question)
            answer = self._channel.receive(self._answer_s)
        except ConnectionLost as error:
            raise ConnectionLost(f"the daemon (process {self.daemon_pid}) has ended") from error
        except TimeoutError as error:
            raise Overdue(
                f"the daemon (process {self.daemon_pid}) has not answered in {self._answer_s:.0f} s"
            ) from error
        if isinstance(answer, Refuse):
            raise Refusal(answer.reason)
        if not isinstance(answer, kind):
            raise OurError(f"the daemon answered {type(answer).__name__}; please report this")
        return answer


def _socket(path: Path) -> socket.socket:
    try:
        sock = connected(path)
    except NoDaemon:
        raise
    except OSError as error:
        raise NoDaemon(f"cannot reach a daemon at {path}: {error}") from error
    if sock is None:
        raise NoDaemon(
            f"no daemon listens at {path}; `joader up -d` starts one, and so does the first job"
        )
    return sock
