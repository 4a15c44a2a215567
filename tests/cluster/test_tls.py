"""TLS between nodes: what travels cannot be read, and nobody can stand between."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from joader.cluster import tls
from joader.cluster.byte_link import Slot
from joader.cluster.greeting import knock, let_in
from joader.cluster.listener import Listener, listening
from joader.cluster.tls import Tls, tls_asked_for, tunnel
from joader.errors import BadArgument, JoaderError, NoDaemon, Refusal
from joader.messages.nodes import Knock, Node
from tests.cluster.nodes import Nodes
from tests.cluster.test_bytes import linked, until

KEY, NODE = b"k" * 32, Node("a", "127.0.0.1", 1)
pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs the program openssl")


@pytest.fixture(autouse=True)
def in_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CLUSTER_TLS", "1")


class Between:
    """Somebody between two nodes: passes on what they say, and keeps it."""

    def __init__(self, port: int, own: Tls | None = None) -> None:
        self.port, self.own, self.heard = port, own, b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = ("127.0.0.1", self.listener.getsockname()[1])
        self.thread = threading.Thread(target=self._pass_on)
        self.thread.start()

    def _pass_on(self) -> None:
        sock, _ = self.listener.accept()
        there = socket.create_connection(("127.0.0.1", self.port))
        if self.own is not None:  # with a certificate of its own it can read all that passes
            sock, there = tunnel(self.own.asked(sock)), tunnel(self.own.asks(there))
        pairs = ((sock, there), (there, sock))
        threads = [threading.Thread(target=self._carry, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sock.close()
        there.close()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                self.heard += data
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.thread.join(10)
        self.listener.close()


async def test_what_passes_cannot_be_read() -> None:
    secret = b"what nobody else may read" * 100
    heard = {}
    for setting in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JOADER_CLUSTER_TLS", setting)
            guests: list[socket.socket] = []
            listener = Listener(
                listening("127.0.0.1", 0),
                KEY,
                lambda sock, _, guests=guests: guests.append(sock),  # type: ignore[misc]
            )
            between = Between(listener.port)
            sock = await _in_a_thread(between.address)
            await until(lambda guests=guests: bool(guests))
            sock.sendall(secret)
            guests[0].settimeout(10)
            got = b""
            while len(got) < len(secret):
                got += guests[0].recv(1 << 16)
            assert got == secret
            heard[setting] = between.heard
            sock.close()
            guests[0].close()
            listener.close()
            between.close()
    assert secret[:20] in heard["0"]
    assert secret[:20] not in heard["1"]
    assert len(heard["1"]) > len(secret)


async def _in_a_thread(address: tuple[str, int]) -> socket.socket:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, lambda: knock(address, KEY, NODE, "bytes"))


async def test_who_stands_between_is_not_let_in_though_it_passes_on_all_that_is_said() -> None:
    guests: list[Knock] = []
    listener = Listener(listening("127.0.0.1", 0), KEY, lambda _, knock: guests.append(knock))
    between = Between(listener.port, own=Tls(tls._made(), "its own"))
    with pytest.raises(Refusal, match="man in the middle"):
        await _in_a_thread(between.address)
    listener.close()
    between.close()
    assert not guests


@pytest.mark.parametrize(
    ("here", "said"), [("0", "JOADER_CLUSTER_TLS is not set here"), ("1", "does not speak TLS")]
)
def test_one_side_without_tls_is_told(
    monkeypatch: pytest.MonkeyPatch, here: str, said: str
) -> None:
    ours = tls_asked_for()
    assert ours is not None
    monkeypatch.setenv("JOADER_CLUSTER_TLS", here)
    with socket.create_server(("127.0.0.1", 0)) as there:

        def answer() -> None:
            sock, _ = there.accept()
            with sock, suppress(OSError, JoaderError):
                let_in(sock if here == "1" else ours.asked(sock), KEY)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NoDaemon, match=said):
            knock(there.getsockname(), KEY, NODE, "bytes")
        thread.join()


async def test_samples_go_from_arena_to_arena() -> None:
    async with linked() as (pair, link):
        slots = [(64 * 1024 * place, 60_000 + place) for place in range(20)]
        link.ask("recipe", np.arange(20), [Slot(*slot) for slot in slots])
        await until(lambda: bool(pair.asked))
        pair.answer(pair.asked[0], slots)
        await until(lambda: bool(pair.arrivals))
        for offset, size in slots:
            assert np.array_equal(pair.here.slot(offset, size), pair.home.slot(offset, size))
        await until(lambda: pair.sent == 1)


def test_a_tunnel_carries_both_ways_at_once_to_the_last_byte() -> None:
    ours = tls_asked_for()
    assert ours is not None
    left, right = socket.socketpair()
    found: list[ssl.SSLSocket] = []
    asked = threading.Thread(target=lambda: found.append(ours.asked(right)))
    asked.start()
    one = tunnel(ours.asks(left))
    asked.join()
    other = tunnel(found[0])
    data = np.random.default_rng(0).integers(0, 256, 8_000_000, np.uint8).tobytes()
    threads = [threading.Thread(target=sock.sendall, args=(data,)) for sock in (one, other)]
    got: dict[int, bytearray] = {0: bytearray(), 1: bytearray()}

    def receive(place: int, sock: socket.socket) -> None:
        while len(got[place]) < len(data):
            got[place] += sock.recv(1 << 18)

    threads += [threading.Thread(target=receive, args=pair) for pair in enumerate((one, other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert got[0] == data == got[1]
    one.sendall(b"the last words")
    one.close()
    other.settimeout(10)
    assert other.recv(100) == b"the last words"
    assert other.recv(100) == b""
    other.close()
    for thread in threading.enumerate():
        if thread.name == "joader-tls":
            thread.join(5)
            assert not thread.is_alive()


def test_a_file_holds_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "node.pem"
    made = subprocess.run(tls._MAKE, capture_output=True, text=True, check=True).stdout
    file.write_text(made)
    monkeypatch.setenv("JOADER_CLUSTER_TLS", str(file))
    assert isinstance(tls_asked_for(), Tls)
    for wrong, said in (("no certificate", "has no certificate"), (made[:-80], "has no certif")):
        other = tmp_path / f"{len(wrong)}.pem"
        other.write_text(wrong)
        monkeypatch.setenv("JOADER_CLUSTER_TLS", str(other))
        with pytest.raises(BadArgument, match=said):
            tls_asked_for()
    only = tmp_path / "only.pem"
    only.write_text(made[made.index("-----BEGIN CERT") :])
    monkeypatch.setenv("JOADER_CLUSTER_TLS", str(only))
    with pytest.raises(BadArgument, match="its private key in one PEM file"):
        tls_asked_for()
    monkeypatch.setenv("JOADER_CLUSTER_TLS", str(tmp_path / "missing.pem"))
    with pytest.raises(BadArgument, match="cannot be read"):
        tls_asked_for()


def test_without_openssl_it_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "_MAKE", ("no-such-program",))
    with pytest.raises(BadArgument, match="install it, or give a PEM file"):
        tls._made()


@pytest.mark.short
@pytest.mark.slow
def test_jobs_of_two_nodes_share_in_tls(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=900) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    assert min(nodes.status(name)["cluster"]["fetched"] for name in ("a", "b")) > 100
