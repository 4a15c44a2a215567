"""Random reads through each storage against the plain library call for the same rows; tar indexes.

    python benchmarks/bench_storage.py [--rounds 31] [--members 1000000] [--only tar]

Both sides read the same batches of 256 random rows, from the page cache, in turns; the figure is
the median over rounds of plain time / storage time (1.0: as fast, 2.0: twice as fast). "one by one"
is `storage[row]` against the plain call for one row. Opening is not in the timed part.
"""

import argparse
import io
import os
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, report

from joader.storage import Storage, open_storage

BATCH = 256
Pair = tuple[str, Callable[[Any], Any], Storage]  # name, plain call, storage


def bodies(rows: int, size: int) -> list[bytes]:
    rng = np.random.default_rng(0)
    return [rng.bytes(int(n)) for n in rng.integers(size // 2, size * 3 // 2, rows)]


def files(folder: Path) -> Iterator[Pair]:
    data = bodies(2000, 100_000)
    paths = []
    for row, body in enumerate(data):
        path = folder / "classes" / f"c{row % 10}" / f"{row:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        paths.append(str(path))
    listed = open_storage(paths)

    def plain(rows: Any) -> Any:
        return [read(paths[row]) for row in rows.tolist()]

    yield "files, 100 KB", plain, listed
    classes = open_storage(folder / "classes")
    names = [
        os.path.join(folder, "classes", one) for one in classes.read(range(2000), ["path"])["path"]
    ]
    labels = np.arange(2000) // 200

    def plain_labelled(rows: Any) -> Any:
        return [(read(names[row]), int(labels[row])) for row in rows.tolist()]

    yield "folder, 100 KB", plain_labelled, classes


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def tars(folder: Path) -> Iterator[Pair]:
    for size in (100_000, 2_500):
        path = folder / f"{size}.tar"
        with tarfile.open(path, "w") as tar:
            for row, body in enumerate(bodies(2000, size)):
                info = tarfile.TarInfo(f"{row:05}.jpg")
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
        storage = open_storage(path)
        library = tarfile.open(path)  # noqa: SIM115
        found = library.getmembers()
        spots = [(member.offset_data, member.size) for member in found]
        file = path.open("rb")

        def by_library(rows: Any, library: Any = library, found: Any = found) -> Any:
            return [library.extractfile(found[row]).read() for row in rows.tolist()]

        def by_seek(rows: Any, file: Any = file, spots: Any = spots) -> Any:
            read = []
            for row in rows.tolist():
                start, length = spots[row]
                file.seek(start)
                read.append(file.read(length))
            return read

        words = f"{size / 1000:g} KB"
        yield f"tar, {words}, against tarfile", by_library, storage
        yield f"tar, {words}, against seek and read", by_seek, storage


def columns(folder: Path) -> Iterator[Pair]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for size, rows, group in ((100_000, 2000, 100), (2_500, 20_000, 1000)):
        table = pa.table({"image": bodies(rows, size), "label": np.arange(rows) % 10})
        words = f"{size / 1000:g} KB"
        path = folder / f"{size}.parquet"
        pq.write_table(table, path, row_group_size=group)
        parquet = open_storage(path, cache_bytes=1 << 30)
        whole = pq.read_table(path, memory_map=True)
        yield f"parquet, {words}, against a table in memory", taken(whole), parquet
        file = folder / f"{size}.arrow"
        with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=group)
        mapped = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
        yield f"arrow, {words}", taken(mapped), open_storage(file)
        yield from hugging_face(folder / f"hf{size}", table, words)


def taken(table: Any) -> Callable[[Any], Any]:
    def plain(rows: Any) -> Any:
        some = table.take(rows)
        return {"image": some["image"].to_pylist(), "label": some["label"].to_numpy()}

    return plain


def hugging_face(folder: Path, table: Any, words: str) -> Iterator[Pair]:
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset(table).save_to_disk(str(folder))
    dataset = datasets.load_from_disk(str(folder))
    saved = open_storage(folder)
    yield f"hf on disk, {words}", lambda rows: dataset[rows.tolist()], saved
    few = dataset.select(np.random.default_rng(1).permutation(len(dataset)))
    opened = open_storage(few)
    yield f"hf selected, {words}", lambda rows: few[rows.tolist()], opened


def parquet_groups(folder: Path) -> Iterator[Pair]:
    """What rows cost that have to be decoded, where nothing can be kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "groups.parquet"
    pq.write_table(pa.table({"image": bodies(2000, 100_000)}), path, row_group_size=100)
    file = pq.ParquetFile(path, memory_map=True)

    def plain(rows: Any) -> Any:
        return [
            file.read_row_group(row // 100, columns=["image"])["image"][row % 100].as_py()
            for row in rows.tolist()
        ]

    storage = open_storage(path, cache_bytes=1, columns=["image"])
    yield "parquet, 100 KB, nothing kept, against read_row_group", plain, storage


def lmdbs(folder: Path) -> Iterator[Pair]:
    import lmdb

    for size in (100_000, 2_500):
        path = folder / f"lmdb{size}"
        writer = lmdb.open(str(path), map_size=1 << 30)
        with writer, writer.begin(write=True) as transaction:
            for row, body in enumerate(bodies(2000, size)):
                transaction.put(b"%08d" % row, body)
        # LMDB opens a place once in a process: the plain side reads a copy.
        copy = folder / f"copy{size}"
        subprocess.run(["cp", "-r", path, copy], check=True)
        plain = lmdb.open(str(copy), readonly=True, lock=False, readahead=False)
        storage = open_storage(path)

        def get(rows: Any, plain: Any = plain) -> Any:
            with plain.begin() as transaction:
                return [transaction.get(b"%08d" % row) for row in rows.tolist()]

        yield f"lmdb, {size / 1000:g} KB", get, storage


def arrays(folder: Path) -> Iterator[Pair]:
    array = np.random.default_rng(0).integers(0, 255, (5000, 128, 128, 3), np.uint8)
    np.save(folder / "a.npy", array)
    held, mapped = open_storage(array), open_storage(folder / "a.npy")
    plain = np.load(folder / "a.npy", mmap_mode="r")
    yield "numpy, 49 KB", lambda rows: array[rows], held
    yield "npy, mapped, 49 KB", lambda rows: plain[rows], mapped


class Rows:
    def __init__(self) -> None:
        self.data = bodies(2000, 2_500)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> tuple[np.ndarray, int]:  # type: ignore[type-arg]
        return np.frombuffer(self.data[row], np.uint8).astype(np.float32), row


def datasets_of_any_kind(folder: Path) -> Iterator[Pair]:
    dataset = Rows()
    storage = open_storage(dataset)
    yield "dataset", lambda rows: [dataset[row] for row in rows.tolist()], storage


def objects(folder: Path) -> Iterator[Pair]:
    import obstore
    from obstore.store import from_url

    with server() as url:
        settings = {
            "endpoint": url,
            "access_key_id": "a",
            "secret_access_key": "b",
            "region": "us-east-1",
        }
        store = from_url("s3://bucket/d", client_options={"allow_http": True}, **settings)
        for row, body in enumerate(bodies(300, 100_000)):
            obstore.put(store, f"{row:03}.jpg", body)
        storage = open_storage("s3://bucket/d", settings=settings)

        def plain(rows: Any) -> Any:
            return [bytes(obstore.get(store, f"{row:03}.jpg").bytes()) for row in rows.tolist()]

        yield "s3 (moto on the loopback), 100 KB", plain, storage


FAR_AWAY = """
import asyncio, sys

async def answer(reader, writer):
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        await asyncio.sleep(0.02)
        head = "HTTP/1.1 200 OK\\r\\nContent-Length: 20000\\r\\nLast-Modified: "
        head += "Sun, 15 Nov 2026 12:00:00 GMT\\r\\n\\r\\n"
        writer.write(head.encode() + bytes(20000))
        await writer.drain()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
"""


def far_away(folder: Path) -> Iterator[Pair]:
    """Have a web server that takes 20 ms for an answer, however many it is asked for."""
    import obstore
    from obstore.store import from_url

    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", FAR_AWAY, str(port)], stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url)
        store = from_url(url, client_options={"allow_http": True})
        storage = open_storage([f"{url}/{row}.jpg" for row in range(300)])

        def plain(rows: Any) -> Any:
            return [bytes(obstore.get(store, f"{row}.jpg").bytes()) for row in rows.tolist()]

        yield "http, 20 ms away, 20 KB", plain, storage
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            time.sleep(0.1)


@contextmanager
def server() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url)
        urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT")).close()
        yield url
    finally:
        process.kill()
        process.wait()


def compare(pair: Pair, rounds: int) -> dict[str, object]:
    name, plain, storage = pair
    rows = len(storage)
    rng = np.random.default_rng(0)
    ratios, singles, times = [], [], []
    for number in range(rounds + 2):
        batch = rng.integers(0, rows, min(BATCH, rows))
        few = batch[:16].reshape(-1, 1)
        numbers = batch[:16].tolist()
        order = (0, 1) if number % 2 else (1, 0)
        seconds = [0.0, 0.0]
        single = [0.0, 0.0]
        for side in order:
            call = (plain, storage.read)[side]
            began = time.perf_counter()
            result: Any = call(batch)
            seconds[side] = time.perf_counter() - began
            del result
        for side in order:
            began = time.perf_counter()
            kept = [storage[row] for row in numbers] if side else [plain(one) for one in few]
            single[side] = time.perf_counter() - began
            assert len(kept) == len(numbers)
        if number >= 2:
            ratios.append(seconds[0] / seconds[1])
            singles.append(single[0] / single[1])
            times.append(seconds)
    middle = statistics.median(ratios)
    row = {
        "case": name,
        "plain_us_a_row": round(statistics.median(t[0] for t in times) / BATCH * 1e6, 2),
        "storage_us_a_row": round(statistics.median(t[1] for t in times) / BATCH * 1e6, 2),
        "ratio": round(middle, 2),
        "spread": [round(float(np.quantile(ratios, q)), 2) for q in (0.25, 0.75)],
        "ratio_one_by_one": round(statistics.median(singles), 2),
    }
    print(
        f"{name:52} {row['plain_us_a_row']:9} {row['storage_us_a_row']:9} us a row "
        f"{row['ratio']:6}x {row['spread']}   one by one {row['ratio_one_by_one']}x",
        flush=True,
    )
    return row


def write_many(path: Path, members: int) -> None:
    """Write a tar of small members, faster than tarfile could."""
    info = tarfile.TarInfo("00/00000000.cls")
    info.size = 4
    template = np.frombuffer(info.tobuf(tarfile.USTAR_FORMAT), np.uint8)
    with path.open("wb") as out:
        for first in range(0, members, 10_000):
            count = min(10_000, members - first)
            blocks = np.zeros((count, 1024), np.uint8)
            blocks[:, :512] = template
            numbers = np.arange(first, first + count)
            digits = (numbers[:, None] // 10 ** np.arange(7, -1, -1) % 10 + 48).astype(np.uint8)
            blocks[:, 3:11] = digits
            blocks[:, 512:516] = digits[:, 4:]
            blocks[:, 148:156] = 32
            sums = blocks[:, :512].sum(axis=1)
            octal = (sums[:, None] // 8 ** np.arange(5, -1, -1) % 8 + 48).astype(np.uint8)
            blocks[:, 148:154] = octal
            blocks[:, 154] = 0
            out.write(blocks.tobytes())
        out.write(bytes(1024))


def index(folder: Path, members: int) -> list[dict[str, object]]:
    path = folder / "many.tar"
    write_many(path, members)
    figures = []
    for words in ("indexed", "reopened", "reopened"):
        began = time.perf_counter()
        storage = open_storage(path)
        seconds = time.perf_counter() - began
        assert len(storage) == members
        assert storage[members - 7] == (members - 7) % 10_000
        figures.append(round(seconds, 3))
        print(f"tar of {members} members {words}: {seconds:.3f} s")
    path.unlink()
    return [
        {"case": f"tar of {members} members, indexed", "seconds": figures[0]},
        {"case": f"tar of {members} members, reopened", "seconds": max(figures[1:])},
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="cases whose name begins so; writes no results")
    options = parser.parse_args()
    kinds = [files, tars, columns, parquet_groups, lmdbs, arrays, datasets_of_any_kind]
    kinds += [objects, far_away]
    if options.only:
        kinds = [kind for kind in kinds if kind.__name__.startswith(options.only)]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        os.environ["JOADER_CACHE"] = str(folder / "cache")
        os.environ["HF_HOME"] = str(folder / "hf")
        for kind in kinds:
            try:
                for pair in kind(folder):
                    slow = pair[0].startswith(("s3", "http", "parquet, 100 KB, nothing"))
                    rows.append(compare(pair, 5 if slow else options.rounds))
            except ImportError as error:
                print(f"{kind.__name__}: left out, {error}")
        if not options.only or options.only == "index":
            rows += index(folder, options.members)
    if not options.only:
        method = (
            "plain time / storage time, median over rounds; batches of 256 random rows from the "
            "page cache, both sides in turns"
        )
        report("storage", machine(), method, rows)


if __name__ == "__main__":
    main()
