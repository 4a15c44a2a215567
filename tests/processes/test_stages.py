"""Rows that wait, on a real daemon: no more workers read at a time than a storage likes."""

import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until

READ = """
import socket

class Far(Squares):
    def __getitem__(self, row):
        if not hasattr(self, "connection") or self.process != os.getpid():
            self.connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            self.process = os.getpid()
        self.connection.sendall(b"?")
        assert self.connection.recv(1) == b"!"
        return super().__getitem__(row)

for batch in joader.DataLoader(
    Far(1_000_000), shuffle=True, batch_size=16, num_workers=16, key="far", job="job"
):
    pass
"""


class Thrashing(socketserver.ThreadingTCPServer):
    """Three requests at a time take 10 ms; more slow each other down, by the square."""

    allow_reuse_address = daemon_threads = True
    serving = answered = 0
    lock = threading.Lock()


class Answer(socketserver.BaseRequestHandler):
    server: Thrashing

    def handle(self) -> None:
        store = self.server
        while self.request.recv(1):
            with store.lock:
                store.serving += 1
                takes_s = 0.01 * max(1.0, store.serving / 3) ** 2
            time.sleep(takes_s)
            with store.lock:
                store.serving -= 1
                store.answered += 1
            self.request.sendall(b"!")


@pytest.fixture
def store() -> Iterator[Thrashing]:
    with Thrashing(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_storage_that_thrashes_is_asked_for_less(node: Node, store: Thrashing) -> None:
    """All 16 workers at once would get 16 rows in 284 ms: 56 per second. Three get 300."""
    node.up(workers=2)
    node.job(READ, str(store.server_address[1]))
    wait_until(lambda: store.answered > 300, 60)
    time.sleep(3.0)
    before = store.answered
    time.sleep(4.0)
    assert (store.answered - before) / 4.0 > 2 * 56
    (crew,) = node.status()["crews"]
    assert 1 <= crew["in_flight_most"] <= 7
    (job,) = node.status()["jobs"]
    assert job["diagnosis"]["kind"] == "storage"
    assert "rows at a time gave no more per second" in job["diagnosis"]["do"]
