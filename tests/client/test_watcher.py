"""Who only asks: what it is answered, and what it says if it is not."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from joader.client.watcher import Watcher
from joader.errors import ConnectionLost, NoDaemon, OurError, Overdue, Refusal
from joader.messages import (
    PROTOCOL,
    AskRun,
    AskStatus,
    Change,
    FromClient,
    Hello,
    Refuse,
    Run,
    Status,
    Welcome,
)
from joader.statistics import NodeStatistics, RunStatistics, to_json
from joader.wire import Channel

Answer = Callable[[Channel[Any], msgspec.Struct], None]
Serve = Callable[[Answer], Path]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Be a daemon that lets one watcher in and answers with this function until it hangs up."""
    threads: list[threading.Thread] = []

    def served(answer: Answer) -> Path:
        path = tmp_path / f"daemon{len(threads)}.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def work() -> None:
            with listener:
                sock, _ = listener.accept()
            channel: Channel[Any] = Channel(sock, FromClient)
            try:
                greeted: Channel[Any] = Channel(sock, Hello)
                assert greeted.receive(60.0).role == "watcher"
                greeted.send(Welcome(PROTOCOL, "test", 77, 0))
                while True:
                    answer(channel, channel.receive(60.0))
            except ConnectionLost:
                pass
            finally:
                channel.close()

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return path

    yield served
    for thread in threads:
        thread.join(60.0)


def figures(channel: Channel[Any], question: msgspec.Struct) -> None:
    if isinstance(question, AskStatus):
        channel.send(Status(to_json(NodeStatistics(pid=77))))
    elif isinstance(question, AskRun):
        channel.send(Run(to_json(RunStatistics(node=NodeStatistics(pid=int(question.since))))))
    elif isinstance(question, Change):
        channel.send(Refuse(f"no policy {question.policy!r}"))


def test_each_question_has_its_answer(serve: Serve) -> None:
    with Watcher(serve(figures)) as watcher:
        assert watcher.daemon_pid == 77
        assert watcher.status().pid == 77
        assert watcher.run(since=5.0).node.pid == 5
        with pytest.raises(Refusal, match="no policy 'mine'"):
            watcher.change(policy="mine")
        assert watcher.status().pid == 77


def test_a_daemon_that_ends_is_told_from_one_that_does_not_answer(serve: Serve) -> None:
    def end(channel: Channel[Any], _: msgspec.Struct) -> None:
        raise ConnectionLost("end of the test")

    with Watcher(serve(end)) as watcher, pytest.raises(ConnectionLost, match=r"process 77.*ended"):
        watcher.status()
    silent = serve(lambda *_: None)
    with Watcher(silent, answer_s=0.05) as watcher, pytest.raises(Overdue, match="not answered"):
        watcher.status()


def test_an_answer_to_another_question_is_our_error(serve: Serve) -> None:
    def wrong(channel: Channel[Any], _: msgspec.Struct) -> None:
        channel.send(Run(b""))

    with Watcher(serve(wrong)) as watcher, pytest.raises(OurError, match="answered Run"):
        watcher.status()


def test_where_nobody_listens_it_says_how_to_start_a_daemon(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="joader up -d"):
        Watcher(tmp_path / "daemon.sock")


def test_what_accepts_and_says_nothing_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with pytest.raises(NoDaemon, match="has not answered"):
            Watcher(path, answer_s=0.05)


def test_what_answers_nonsense_is_no_daemon(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.sendall(b"\xff" * 64)
                sock.recv(1024)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NoDaemon, match="not a daemon we know"):
            Watcher(path)
        thread.join(60.0)
