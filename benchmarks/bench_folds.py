"""Five folds at once: how often is each row prepared, with how much of the dataset cached?

Five jobs, each a process of its own, read the training parts of a five-fold cross-validation: four
fifths of the rows each, one pass. Without sharing every row is prepared four times. Counts only:
they do not depend on how busy the machine is. Asked: at most 2.0, 1.5 and 1.05 with 1, 10 and 40 %
cached.

    python benchmarks/bench_folds.py --rows 10000 --cache 0.01,0.1,0.4
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import machine, report

import joader

COUNT = 5
BATCH = 8
WORDS = 256
SAMPLE_BYTES = 8 * WORDS


class Rows:
    """Rows of 2 KiB."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> np.ndarray:  # type: ignore[type-arg]
        return np.full(WORDS, row)


def job(options: argparse.Namespace) -> None:
    """Be one fold: say ready, wait for the go, read its part, say what came."""
    from torch.utils.data import Subset

    learn, _ = joader.folds(options.rows, COUNT)[options.fold]
    loader = joader.DataLoader(
        Subset(Rows(options.rows), learn.tolist()),
        batch_size=BATCH,
        shuffle=True,
        key="folds",
        deterministic=True,
        as_numpy=True,
        fallback=False,
    )
    print("ready", flush=True)
    sys.stdin.readline()
    rows = np.concatenate([batch[:, 0] for batch in loader])
    assert np.array_equal(np.sort(rows), learn), "not each row once"
    found = loader.stats()
    print(json.dumps({"delivered": found.delivered, "prepared": found.prepared}), flush=True)


def run(cache: float, options: argparse.Namespace) -> dict[str, object]:
    """Run five folds on a daemon of their own."""
    folder = Path(tempfile.mkdtemp(prefix="joader-bench-"))
    environment = {**os.environ, "JOADER_RUNTIME": str(folder)}
    memory = int(cache * options.rows) * SAMPLE_BYTES
    daemon = subprocess.Popen(
        [
            *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
            *(f"--memory={memory}", "--workers=2", "--idle=0"),
        ],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    while not (folder / "daemon.sock").exists():
        time.sleep(0.02)
    pipe = subprocess.PIPE
    command = [sys.executable, __file__, "--job", f"--rows={options.rows}"]
    jobs = [
        subprocess.Popen(
            [*command, f"--fold={fold}"], env=environment, stdin=pipe, stdout=pipe, text=True
        )
        for fold in range(COUNT)
    ]
    for process in jobs:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
    found = [json.loads(said) for said in told_to_go(jobs)]
    daemon.terminate()
    daemon.wait()
    shutil.rmtree(folder)
    prepared = sum(each["prepared"] for each in found)
    delivered = sum(each["delivered"] for each in found)
    return {
        "cached": cache,
        "delivered": delivered,
        "prepared": prepared,
        "prepared_per_row": round(prepared / options.rows, 3),
        "without_sharing": round(delivered / options.rows, 3),
    }


def told_to_go(jobs: list[subprocess.Popen[str]]) -> list[str]:
    for process in jobs:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in jobs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--cache", default="0.01,0.1,0.4")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--fold", type=int, default=0)
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    rows = []
    for cache in map(float, options.cache.split(",")):
        rows.append(run(cache, options))
        print(rows[-1], flush=True)
        report("folds", machine(), __doc__ or "", rows)


if __name__ == "__main__":
    main()
