"""N training jobs on one machine: torch's DataLoader, the bare preparation loop, and joader.

Each job is a process of its own and reads every row once (first pass). Imports and start-up of all
jobs are over before the clock starts; the first batch is part of the timed work on all sides.
The bare loop prepares each row once on all cores: times N it is what N jobs could get at best.
All ids are counted. CPU seconds are of jobs, workers and daemon together.

    python benchmarks/bench_jobs.py --jobs 1,2,4 --rows 1200 --cache 0.05 --photos FILE
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import machine, report
from photos import Photos

BATCH = 32
SAMPLE_BYTES = 256 * 256 * 3 + 64


def job(options: argparse.Namespace) -> None:
    """Be one job: say ready, wait for the go, read everything, say what came."""
    data = Photos(options.photos, options.rows)
    data.bodies  # noqa: B018
    loader: Any
    if options.side == "torch":
        from torch.utils.data import DataLoader

        loader = DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=options.workers)
    elif options.side == "joader":
        import joader

        # Imports and the reading of the photos, in every worker, as the other sides have done.
        warm = joader.DataLoader(Photos(options.photos, 64), batch_size=8, key="warm up")
        for _ in warm:
            pass
        warm.close()
        loader = joader.DataLoader(
            data, batch_size=BATCH, shuffle=True, key=f"photos {options.rows}", deterministic=True
        )
    else:
        loader = _bare(data, options.part, options.parts)
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    ids: list[int] = []
    for _, rows in loader:
        ids += rows.tolist() if hasattr(rows, "tolist") else [rows]
    seconds = time.perf_counter() - started
    cpu = sum(os.times()[:4])
    stats = {}
    if options.side == "joader":
        found = loader.stats()
        stats = {"delivered": found.delivered, "prepared": found.prepared}
        loader.close()
    print(json.dumps({"seconds": seconds, "ids": len(set(ids)), "cpu": cpu, **stats}), flush=True)


def _bare(data: Photos, part: int, parts: int) -> Any:
    return (data[row] for row in range(part, len(data), parts))


def run(side: str, jobs: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run `jobs` jobs of one side and return samples a second in total, CPU, counts."""
    folder = Path(tempfile.mkdtemp(prefix="joader-bench-"))
    environment = {**os.environ, "JOADER_RUNTIME": str(folder)}
    daemon = None
    if side == "joader":
        memory = max(int(options.cache * options.rows), 4 * BATCH * jobs) * SAMPLE_BYTES
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                *(f"--memory={memory}", f"--workers={options.workers}", "--idle=0"),
            ],
            env=environment,
        )
        while not (folder / "daemon.sock").exists():
            time.sleep(0.02)
    count = options.workers if side == "bare" else jobs
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--job", f"--side={side}", f"--rows={options.rows}"),
                *(f"--workers={options.workers}", f"--photos={options.photos}"),
                *(f"--part={number}", f"--parts={count}"),
            ],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
    before = _tree_cpu(daemon)
    started = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0]) for process in processes]
    wall = time.perf_counter() - started
    cpu = sum(result["cpu"] for result in results) + _tree_cpu(daemon) - before
    if daemon is not None:
        daemon.terminate()
        daemon.wait()
    shutil.rmtree(folder)
    rows = options.rows if side == "bare" else options.rows * jobs
    assert sum(result["ids"] for result in results) == rows, "ids are missing"
    found: dict[str, Any] = {"rate": rows / wall, "cpu": 1000 * cpu / rows}
    if side == "joader":
        delivered = sum(result["delivered"] for result in results)
        found["prepared"] = sum(result["prepared"] for result in results) / delivered
    return found


def _tree_cpu(daemon: "subprocess.Popen[Any] | None") -> float:
    """Return CPU seconds of the daemon and its workers so far."""
    if daemon is None:
        return 0.0
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    total = 0.0
    for pid in [str(daemon.pid), *children]:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="1,2,4")
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--cache", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--photos", default="../shared/data/imagenet-sample.parquet")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--side")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    try:
        import PIL  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"bench_jobs needs torch and Pillow beside joader ({error}); left out")
        return
    results: list[dict[str, object]] = []
    for jobs in map(int, options.jobs.split(",")):
        runs: dict[str, list[dict[str, Any]]] = {"bare": [], "torch": [], "joader": []}
        for _ in range(options.repeats):
            for side, found in runs.items():  # in turn, so that a slow minute hits all sides
                found.append(run(side, jobs, options))
        middle = {
            side: statistics.median(found["rate"] for found in each) for side, each in runs.items()
        }
        row: dict[str, object] = {
            "jobs": jobs,
            **{f"{side}_per_s": round(rate, 1) for side, rate in middle.items()},
            "over_torch": round(middle["joader"] / middle["torch"], 2),
            "over_bare": round(middle["joader"] / middle["bare"], 2),
            "prepared_per_delivered": round(
                statistics.median(found["prepared"] for found in runs["joader"]), 4
            ),
            **{
                f"{side}_cpu_s_per_1000": round(statistics.median(f["cpu"] for f in each), 2)
                for side, each in runs.items()
            },
            "spread": {side: [round(f["rate"], 1) for f in each] for side, each in runs.items()},
        }
        results.append(row)
        print(row, flush=True)
    method = f"{options.rows} rows, batch {BATCH}, cache {options.cache}, {options.repeats} repeats"
    report("jobs", machine(), method, results)


if __name__ == "__main__":
    main()
