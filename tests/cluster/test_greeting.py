"""The first words between two nodes."""

import socket
import threading
from unittest import mock

import pytest

from joader.cluster import greeting
from joader.cluster.greeting import knock, let_in
from joader.errors import JoaderError, NoDaemon, Refusal
from joader.messages import Refuse
from joader.messages.nodes import Challenge, Granted, Knock, Node, Proof
from joader.wire import Channel

KEY, NODE = b"k" * 32, Node("a", "127.0.0.1", 1)


class Asked:
    """A node that is knocked at, once, in a thread."""

    def __init__(self, key: bytes = KEY) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()[:2]
        self.key = key
        self.knock: Knock | None = None
        self.error: JoaderError | None = None
        self.thread = threading.Thread(target=self.answer)
        self.thread.start()

    def answer(self) -> None:
        sock, _ = self.listener.accept()
        with sock:
            try:
                self.knock = let_in(sock, self.key)[0]
            except JoaderError as error:
                self.error = error

    def close(self) -> None:
        self.thread.join(10)
        self.listener.close()


def test_who_has_the_key_is_let_in_and_known_by_name() -> None:
    asked = Asked()
    knock(asked.address, KEY, NODE, "bytes").close()
    asked.close()
    assert asked.knock is not None
    assert (asked.knock.node, asked.knock.purpose) == (NODE, "bytes")


def test_another_key_is_refused_with_the_name_of_who_has_it() -> None:
    asked = Asked(b"o" * 32)
    with pytest.raises(Refusal, match="node a has another cluster key"):
        knock(asked.address, KEY, NODE, "bytes")
    asked.close()
    assert asked.knock is None


def knocked(asked: Asked) -> tuple[socket.socket, Channel[Challenge | Granted | Refuse]]:
    """Come as a stranger who knows all but the key."""
    sock = socket.create_connection(asked.address)
    channel: Channel[Challenge | Granted | Refuse] = Channel(sock, Challenge | Granted | Refuse)
    version, python = greeting.__version__, greeting.PYTHON
    channel.send(Knock(version, python, greeting.CLUSTER_PROTOCOL, "bytes", NODE, b"n" * 32))
    return sock, channel


def test_a_stranger_gets_nothing_to_guess_the_key_from() -> None:
    """Nothing that it is told depends on the key."""
    asked = [Asked(), Asked(b"o" * 32)]
    said = []
    for one in asked:
        with mock.patch("secrets.token_bytes", lambda size: b"r" * size):
            sock, channel = knocked(one)
            with sock:
                said.append(channel.receive(5))
                channel.send(Proof(b"guess" * 8))
                said.append(channel.receive(5))
        one.close()
        assert one.knock is None
        assert isinstance(one.error, Refusal)
    assert said[:2] == said[2:]


def test_who_listens_without_the_key_is_not_believed() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        sock, _ = listener.accept()
        with sock:
            channel: Channel[Knock | Proof] = Channel(sock, Knock | Proof)
            channel.receive(5)
            channel.send(Challenge(b"r" * 32))
            proof = channel.receive(5)
            assert isinstance(proof, Proof)
            channel.send(Granted(proof.proof))  # it repeats what it has heard

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(Refusal, match="does not have the cluster's key"):
        knock(listener.getsockname()[:2], KEY, NODE, "bytes")
    thread.join()
    listener.close()


@pytest.mark.parametrize(("name", "value"), [("__version__", "9.9"), ("PYTHON", "3.99")])
def test_other_versions_are_refused_with_a_sentence(name: str, value: str) -> None:
    with mock.patch.object(greeting, name, value):
        said = greeting.Knock(greeting.__version__, greeting.PYTHON, 1, "bytes", NODE, b"n" * 32)
    with pytest.raises(Refusal, match=f"node a runs joader .*{value}.*need the same versions"):
        greeting._check_versions(said)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()[:2]
    with pytest.raises(NoDaemon, match="cannot reach a node at"):
        knock(address, KEY, NODE, "bytes")


def test_who_says_nothing_is_not_waited_for() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        mock.patch.object(greeting, "GREETING_S", 0.2),
        pytest.raises(NoDaemon, match="is it a joader daemon"),
    ):
        knock(mute.getsockname()[:2], KEY, NODE, "bytes")


def test_another_program_is_told_from_a_daemon() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(NoDaemon, match="does not speak joader's protocol"):
        knock(listener.getsockname()[:2], KEY, NODE, "bytes")
    thread.join()
    listener.close()
