"""CIFAR as JPEG rows of a Parquet file, one job: joader against torch's DataLoader at its best.

Both sides give batches of 256 shuffled images as uint8 tensors, and their labels. torch has the
rows' bytes in memory before the clock starts, decodes them by Pillow in its workers, and is tried
with several worker counts, workers started and warm; the best counts. joader opens the file, or a
table made of it, has room for all prepared images, and starts from nothing: workers are born in the
first pass, later passes find everything prepared. Every run is a process of its own; sides take
turns, so that a slow minute hits all of them.

    python benchmarks/bench_cifar.py [--parquet FILE] [--rounds 3] [--passes 3] [--workers 0,1,2,3]
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, report

BATCH = 256
COLUMNS = ["image", "label"]
WARM_UP_ROWS = 2_000


class Pillow:
    """The rows in memory, decoded by Pillow: what a good training script does."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        table = pq.read_table(path, columns=COLUMNS)
        self.bodies = table["image"].to_pylist()
        self.labels = table["label"].to_pylist()

    def __len__(self) -> int:
        return len(self.bodies)

    def __getitem__(self, row: int) -> Any:
        import torch
        from PIL import Image

        picture = Image.open(io.BytesIO(self.bodies[row])).convert("RGB")
        return torch.from_numpy(np.array(picture)), self.labels[row]


def read(loader: Any) -> tuple[float, list[Any]]:
    """Read a pass; return the seconds it took, and the labels."""
    labels = []
    began = time.perf_counter()
    for _, some in loader:
        labels.append(some)
    return time.perf_counter() - began, labels


def job(options: argparse.Namespace) -> None:
    """Be one job: print the seconds of each pass."""
    import torch.utils.data

    torch.set_num_threads(1)
    seconds = by_torch(options) if options.side == "torch" else by_joader(options)
    print(json.dumps(seconds))


def by_torch(options: argparse.Namespace) -> list[float]:
    import torch.utils.data

    workers = int(options.workers)
    loader: Any = torch.utils.data.DataLoader(
        Pillow(options.parquet), BATCH, True, num_workers=workers, persistent_workers=workers > 0
    )
    if workers:
        next(iter(loader))  # workers start, and import what they need
    return [read(loader)[0] for _ in range(options.passes)]


def by_joader(options: argparse.Namespace) -> list[float]:
    import joader
    from joader import images
    from joader.storage import open_storage

    steps: Any = {"prepare": [images.Decode()]}
    rows = Pillow(options.parquet)
    warm_up_path = Path(options.folder, "few.parquet")
    if not warm_up_path.exists():
        write_few(options.parquet, warm_up_path)
    warm = joader.DataLoader(
        open_storage(warm_up_path, columns=COLUMNS), BATCH, shuffle=True, **steps
    )
    for _ in range(3):
        read(warm)
    warm.close()
    if options.side == "table":
        table = joader.create("cifar", options.parquet)
        loader: Any = joader.DataLoader(table, BATCH, shuffle=True, columns=COLUMNS, **steps)
    else:
        storage = open_storage(options.parquet, columns=COLUMNS)
        loader = joader.DataLoader(storage, BATCH, shuffle=True, **steps)
    seconds = []
    for _ in range(options.passes):
        spent, labels = read(loader)
        seconds.append(spent)
        counts = np.bincount(np.concatenate([some.numpy() for some in labels]))
        assert counts.tolist() == np.bincount(rows.labels).tolist(), "rows are missing"
    stats = loader.stats()
    assert stats.prepared == len(rows), f"prepared again: {stats}"
    loader.close()
    check_equal(options.parquet, rows, steps)
    return seconds


def check_equal(path: str, rows: Pillow, steps: Any) -> None:
    """See that both sides give the same: pixels within one level, and labels."""
    import joader
    from joader.storage import open_storage

    storage = open_storage(path, columns=COLUMNS)
    with joader.DataLoader(storage, 64, **steps) as loader:
        for number, (images, labels) in enumerate(loader):
            for at in range(len(images)):
                image, label = rows[number * 64 + at]
                assert label == int(labels[at]), "another label"
                assert (images[at].int() - image.int()).abs().max() <= 1, "another image"
            if number == 9:
                break


def write_few(path: str, target: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(path).slice(0, WARM_UP_ROWS), target)


def run(side: str, workers: int, options: argparse.Namespace) -> list[float]:
    """Run a job with a daemon of its own, and return the seconds of its passes."""
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        environment = {
            **os.environ,
            "JOADER_RUNTIME": folder,
            "JOADER_CATALOG": f"{folder}/catalog",
            "JOADER_CACHE": f"{folder}/cache",
            "OMP_NUM_THREADS": "1",
        }
        daemon = None
        if side != "torch":
            cores = len(os.sched_getaffinity(0))
            settings = [f"--memory={options.memory}", f"--workers={options.ours or cores}"]
            daemon = subprocess.Popen(
                [
                    *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                    *(*settings, "--idle=0"),
                ],
                env=environment,
                stderr=subprocess.DEVNULL,
            )
            while not Path(folder, "daemon.sock").exists():
                time.sleep(0.02)
        try:
            found = subprocess.run(
                [
                    *(sys.executable, __file__, "--job", f"--side={side}", f"--folder={folder}"),
                    *(f"--parquet={options.parquet}", f"--passes={options.passes}"),
                    f"--workers={workers}",
                ],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        finally:
            if daemon is not None:
                daemon.terminate()
                daemon.wait()
        seconds: list[float] = json.loads(found.stdout)
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parquet", default="", help="made of random images where there is none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--workers", default="0,1,2,3", help="torch's worker counts")
    parser.add_argument("--ours", type=int, default=0, help="joader's; 0: one a core")
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--only", default="", help="one side: torch, storage, table")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--side", default="")
    parser.add_argument("--folder", default="")
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        options.parquet = options.parquet or made(Path(folder, "images.parquet"))
        conclude(measured(options), options)


def made(path: Path, rows: int = 10_000) -> str:
    """Write a file of random JPEGs of 32 x 32, where the real ones are not at hand."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    rng = np.random.default_rng(0)
    bodies = []
    for _ in range(rows):
        body = io.BytesIO()
        coarse = Image.fromarray(rng.integers(0, 255, (8, 8, 3), np.uint8))
        coarse.resize((32, 32)).save(body, "JPEG")
        bodies.append(body.getvalue())
    table = pa.table({"image": bodies, "label": np.arange(rows) % 10})
    pq.write_table(table, path, row_group_size=rows // 10)
    return str(path)


def measured(options: argparse.Namespace) -> dict[str, list[float]]:
    """Run all cases in turns; return samples a second, by case."""
    import pyarrow.parquet as pq

    length = pq.read_metadata(options.parquet).num_rows
    cases = [("torch", int(workers)) for workers in options.workers.split(",")]
    cases += [("storage", 0), ("table", 0)]
    cases = [case for case in cases if options.only in ("", case[0])]
    rates: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for side, workers in cases:
            first, *later = run(side, workers, options)
            if side == "torch":
                named = {f"torch, {workers} workers": [first, *later]}
            else:
                named = {f"{side}, first pass": [first], f"{side}, later passes": later}
            for name, seconds in named.items():
                rates.setdefault(name, []).extend(length / spent for spent in seconds)
                print(
                    f"{name}: {[round(length / spent) for spent in seconds]} a second", flush=True
                )
    return rates


def conclude(rates: dict[str, list[float]], options: argparse.Namespace) -> None:
    """Print medians and ratios, and keep them where all sides were run."""
    middle = {name: statistics.median(each) for name, each in rates.items()}
    best = max((rate for name, rate in middle.items() if name.startswith("torch")), default=0.0)
    rows: list[dict[str, object]] = []
    for name, rate in middle.items():
        row: dict[str, object] = {"case": name, "samples_per_s": round(rate)}
        row["least"], row["most"] = round(min(rates[name])), round(max(rates[name]))
        if best:
            row["times_torch_at_its_best"] = round(rate / best, 2)
        rows.append(row)
        print(row)
    if not options.only:
        method = f"medians of {options.rounds} interleaved rounds of {options.passes} passes, "
        report("cifar", machine(), method + f"batch {BATCH}, memory {options.memory}", rows)


if __name__ == "__main__":
    main()
