"""N training jobs on one machine: torch's DataLoader, the bare preparation loop, and joader.

Each job is a process of its own and reads every row once (first pass). Imports and start-up of all
jobs are over before the clock starts; the first batch is part of the timed work on all sides.
Batches are tensors on both sides. torch is tried with several worker counts and the best counts.
The bare loop prepares each row once on all cores: times N it is what N jobs could get at best.
joader's workers are born in the timed part, as torch's are.
All ids are counted. CPU seconds are of jobs, workers and daemon together, in the timed part; the
ratio by them is what the ratio of rates comes to where nothing else runs and all cores are busy.

    python benchmarks/bench_jobs.py --jobs 1,2,4,8 --torch-workers 0,1,2,3 --photos FILE
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
from contextlib import suppress
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
    if options.side != "bare":
        import torch.utils.data

        torch.set_num_threads(1)  # as a job that trains on a GPU beside others would
    if options.side == "torch":
        loader = torch.utils.data.DataLoader(
            data, batch_size=BATCH, shuffle=True, num_workers=options.workers
        )
    elif options.side == "joader":
        import joader

        # Imports, and the way to the daemon; workers of this loader end with it.
        warm = joader.DataLoader(Photos(options.photos, 64), batch_size=8, key="warm up")
        for _ in warm:
            pass
        warm.close()
        _wait_for_children()
        loader = joader.DataLoader(
            data, batch_size=BATCH, shuffle=True, key=f"photos {options.rows}", deterministic=True
        )
    else:
        loader = _bare(data, options.part, options.parts)
    print("ready", flush=True)
    sys.stdin.readline()
    before = sum(os.times()[:4])
    ids: list[int] = []
    for _, rows in loader:
        ids += rows.tolist() if hasattr(rows, "tolist") else [rows]
    ended = time.perf_counter()  # of the machine, the same in all processes
    stats = {}
    if options.side == "joader":
        found = loader.stats()
        stats = {"delivered": found.delivered, "prepared": found.prepared}
        loader.close()
        _wait_for_children()
    cpu = sum(os.times()[:4]) - before  # children too, as all of them were waited for
    print(json.dumps({"ended": ended, "ids": len(set(ids)), "cpu": cpu, **stats}), flush=True)


def _wait_for_children() -> None:
    """Wait until a closed loader's nursery has ended: only then its workers' CPU is ours."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _bare(data: Photos, part: int, parts: int) -> Any:
    return (data[row] for row in range(part, len(data), parts))


def run(side: str, workers: int, jobs: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run `jobs` jobs of one side and return samples a second in total, CPU, counts."""
    folder = Path(tempfile.mkdtemp(prefix="joader-bench-"))
    environment = {**os.environ, "JOADER_RUNTIME": str(folder)}
    daemon = None
    if side == "joader":
        # Room for the jobs' shares, two batches each, is needed in any case.
        memory = max(int(options.cache * options.rows), (2 * jobs + 1) * BATCH) * SAMPLE_BYTES
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                *(f"--memory={memory}", f"--workers={workers}", "--idle=0"),
            ],
            env=environment,
        )
        while not (folder / "daemon.sock").exists():
            time.sleep(0.02)
    count = workers if side == "bare" else jobs
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--job", f"--side={side}", f"--rows={options.rows}"),
                *(f"--workers={workers}", f"--photos={options.photos}"),
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
    before = _cpu_of(daemon)
    started = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0]) for process in processes]
    wall = max(result["ended"] for result in results) - started
    cpu = sum(result["cpu"] for result in results) + _cpu_of(daemon) - before
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


def _cpu_of(daemon: "subprocess.Popen[Any] | None") -> float:
    """Return CPU seconds of the daemon so far; workers are their jobs'."""
    if daemon is None:
        return 0.0
    fields = Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(jobs: int, options: argparse.Namespace) -> dict[str, object]:
    """Run all sides in turn, so that a slow minute hits all, and put the medians together."""
    torch_workers = [int(count) for count in options.torch_workers.split(",")]
    sides = [("bare", options.workers), ("joader", options.workers)]
    sides += [("torch", count) for count in torch_workers]
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {side: [] for side in sides}
    for _ in range(options.repeats):
        for side, workers in sides:
            runs[side, workers].append(run(side, workers, jobs, options))

    def middle(side: tuple[str, int], what: str = "rate") -> float:
        return statistics.median(found[what] for found in runs[side])

    best = max((side for side in sides if side[0] == "torch"), key=middle)
    chosen = {"bare": sides[0], "torch": best, "joader": sides[1]}
    rate = {name: middle(side) for name, side in chosen.items()}
    cpu = {name: middle(side, "cpu") for name, side in chosen.items()}
    return {
        "jobs": jobs,
        **{f"{name}_per_s": round(each, 1) for name, each in rate.items()},
        "over_torch": round(rate["joader"] / rate["torch"], 2),
        "over_bare": round(rate["joader"] / rate["bare"], 2),
        "prepared_per_delivered": round(middle(sides[1], "prepared"), 4),
        **{f"{name}_cpu_ms": round(each, 3) for name, each in cpu.items()},
        "over_bare_by_cpu": round(cpu["bare"] / cpu["joader"], 2),
        "torch_per_s_by_workers": {
            str(count): round(middle(("torch", count)), 1) for count in torch_workers
        },
        "spread": {
            name: [round(found["rate"], 1) for found in runs[side]] for name, side in chosen.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="1,2,4,8")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--cache", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--torch-workers", default="1,2")
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
    results = []
    for jobs in map(int, options.jobs.split(",")):
        results.append(compare(jobs, options))
        print(results[-1], flush=True)
    method = f"{options.rows} rows, batch {BATCH}, cache {options.cache}, {options.repeats} repeats"
    report("jobs", machine(), method, results)


if __name__ == "__main__":
    main()
