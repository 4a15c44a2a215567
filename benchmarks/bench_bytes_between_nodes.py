"""How fast prepared samples go from one daemon's memory to another's: ours, Flight, and sendfile.

    python benchmarks/bench_bytes_between_nodes.py [--seconds 2] [--rounds 3]

Two processes, each with an arena; the second gets samples in parcels of 32 and writes each to its
slot. *joader*: the link that daemons use (cluster/byte_link.py), four parcels on their way; *TLS*:
the same with JOADER_CLUSTER_TLS=1.
*Flight*: Arrow Flight's do_get of the same parcels, as many on their way, one column of binaries,
each copied to its slot. *sendfile*: a bare loop over one socket, nothing asked and nothing checked.
Round by round, in turn; the figures are medians.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from harness import machine, report

from joader.cluster.byte_link import Arrival, ByteLink, Slot
from joader.cluster.byte_server import ByteServer, Load
from joader.cluster.listener import Listener, listening
from joader.memory import Arena
from joader.messages.nodes import Ask, Node, Parcel

KEY = b"k" * 32
ROWS = 32  # of a parcel
AHEAD = 4  # parcels on their way
ARENA = 64 << 20


def spans(size: int) -> list[tuple[int, int]]:
    """Return where the samples of a parcel lie."""
    stride = -(-size // 64) * 64
    return [(row * stride, size) for row in range(ROWS)]


# Ours.


def serve_joader(port: "multiprocessing.queues.Queue[int]", size: int) -> None:
    async def main() -> None:
        arena = Arena(ARENA)
        arena.view[:] = 1
        there = spans(size)

        def answer(server: ByteServer, ask: Ask) -> None:
            parcel = Parcel(ask.number, (size,) * ROWS, (b"{}",), (0,) * ROWS)
            server.send(Load(parcel, there, lambda: None))

        listener = Listener(
            listening("127.0.0.1", 0),
            KEY,
            lambda sock, knock: ByteServer(sock, knock, arena, answer, lambda _: None),
        )
        port.put(listener.port)
        await asyncio.Event().wait()

    asyncio.run(main())


def fetch_joader(port: int, size: int, seconds: float) -> tuple[float, int]:
    async def main() -> tuple[float, int]:
        arena = Arena(ARENA)
        arena.view[:] = 0
        slots = [Slot(offset, length) for offset, length in spans(size)]
        rows, came, up = np.arange(ROWS), 0, asyncio.Event()

        def arrived(link: ByteLink, arrival: Arrival) -> None:
            nonlocal came
            came += 1
            if time.perf_counter() < until:
                link.ask("recipe", rows, slots)
            else:
                done.set()

        done = asyncio.Event()
        link = ByteLink(
            Node("home", "127.0.0.1", port),
            KEY,
            Node("here", "127.0.0.1", 1),
            arena,
            on_up=lambda _: up.set(),
            on_arrival=arrived,
            on_end=lambda *_: None,
        )
        await up.wait()
        started = time.perf_counter()
        until = started + seconds
        for _ in range(AHEAD):
            link.ask("recipe", rows, slots)
        await done.wait()
        took = time.perf_counter() - started
        link.close()
        assert arena.slot(*slots[-1]).all()
        return took, came

    return asyncio.run(main())


# Ours, in TLS.


def serve_tls(port: "multiprocessing.queues.Queue[int]", size: int) -> None:
    os.environ["JOADER_CLUSTER_TLS"] = "1"
    serve_joader(port, size)


def fetch_tls(port: int, size: int, seconds: float) -> tuple[float, int]:
    os.environ["JOADER_CLUSTER_TLS"] = "1"
    try:
        return fetch_joader(port, size, seconds)
    finally:
        del os.environ["JOADER_CLUSTER_TLS"]


# Arrow Flight.


def serve_flight(port: "multiprocessing.queues.Queue[int]", size: int) -> None:
    import pyarrow
    from pyarrow import flight

    arena = Arena(ARENA)
    arena.view[:] = 1

    class Server(flight.FlightServerBase):
        def do_get(self, context: object, ticket: object) -> object:
            joined = pyarrow.py_buffer(arena.view[: ROWS * size])
            offsets = pyarrow.py_buffer(np.arange(0, (ROWS + 1) * size, size, dtype=np.int32))
            column = pyarrow.BinaryArray.from_buffers(
                pyarrow.binary(), ROWS, [None, offsets, joined]
            )
            batch = pyarrow.record_batch([column], ["sample"])
            return flight.RecordBatchStream(
                pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])
            )

    server = Server("grpc://127.0.0.1:0")
    port.put(server.port)
    server.serve()


def fetch_flight(port: int, size: int, seconds: float) -> tuple[float, int]:
    from pyarrow import flight

    arena = Arena(ARENA)
    arena.view[:] = 0
    client = flight.FlightClient(f"grpc://127.0.0.1:{port}")
    slots = [arena.slot(*span) for span in spans(size)]

    def fetch() -> int:
        count = 0
        while time.perf_counter() < until:
            column = client.do_get(flight.Ticket(b"32 rows")).read_all().column(0).chunk(0)
            data = np.frombuffer(column.buffers()[2], np.uint8)
            for row, slot in enumerate(slots):
                slot[:] = data[row * size : (row + 1) * size]
            count += 1
        return count

    started = time.perf_counter()
    until = started + seconds
    with ThreadPoolExecutor(AHEAD) as pool:
        came = sum(pool.map(lambda _: fetch(), range(AHEAD)))
    assert slots[-1].all()
    return time.perf_counter() - started, came


# A bare loop.


def serve_sendfile(port: "multiprocessing.queues.Queue[int]", size: int) -> None:
    arena = Arena(ARENA)
    arena.view[:] = 1
    descriptor = arena.read_only_descriptor()
    listener = socket.create_server(("127.0.0.1", 0))
    port.put(listener.getsockname()[1])
    while True:
        sock, _ = listener.accept()
        with sock:
            try:
                while True:
                    sent = 0
                    while sent < ROWS * size:
                        sent += os.sendfile(sock.fileno(), descriptor, sent, ROWS * size - sent)
            except OSError:
                continue


def fetch_sendfile(port: int, size: int, seconds: float) -> tuple[float, int]:
    arena = Arena(ARENA)
    arena.view[:] = 0
    came = 0
    with socket.create_connection(("127.0.0.1", port)) as sock:
        started = time.perf_counter()
        while time.perf_counter() < started + seconds:
            at, view = 0, arena.view[: ROWS * size].data
            while at < ROWS * size:
                at += sock.recv_into(view[at:])
            came += 1
        return time.perf_counter() - started, came


WAYS: dict[str, tuple[Callable[..., None], Callable[..., tuple[float, int]]]] = {
    "joader": (serve_joader, fetch_joader),
    "TLS": (serve_tls, fetch_tls),
    "Flight": (serve_flight, fetch_flight),
    "sendfile": (serve_sendfile, fetch_sendfile),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    where, rows = machine(), []
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    context = multiprocessing.get_context("spawn")
    for size in (3_072, 50_000, 196_608):
        servers, ports = [], {}
        for name, (serve, _) in WAYS.items():
            told: multiprocessing.queues.Queue[int] = context.Queue()
            server = context.Process(target=serve, args=(told, size), daemon=True)
            server.start()
            servers.append(server)
            ports[name] = told.get(timeout=60)
        rates: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(options.rounds):
            for name, (_, fetch) in WAYS.items():
                took, parcels = fetch(ports[name], size, options.seconds)
                rates[name].append(parcels * ROWS / took)
        for server in servers:
            server.terminate()
        for name, each in rates.items():
            per_s = statistics.median(each)
            gb = [size * rate / 1e9 for rate in (per_s, min(each), max(each))]
            print(
                f"{size:>8,} bytes  {name:9} {gb[0]:5.2f} GB/s ({gb[1]:.2f} to {gb[2]:.2f}), "
                f"{per_s:9,.0f} samples/s"
            )
            rows.append({"bytes": size, "way": name, "gb_per_s": gb[0], "samples_per_s": per_s})
    method = f"median of {options.rounds} rounds of {options.seconds:g} s, loopback, in turn"
    report("bytes_between_nodes", where, method, rows)


if __name__ == "__main__":
    main()
