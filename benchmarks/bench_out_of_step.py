"""Two jobs out of step on a real daemon: how much is prepared, against the simulator?

Case "1:4": a job reads one pass while another reads four, four times as fast. Case "30 % apart":
two equal jobs, the second comes when the first has read 30 % of a pass; three passes each. Case
"quarters": four such jobs, a quarter of a pass apart. Under the orders "shared" (streams) and
"joint". A row takes a while, a job sleeps between batches so that it trains at a fixed rate, and
all work together fits the cores: so nobody has a reason to be slower than alone on a daemon of its
own. `--sleep`: rows wait instead of computing, so that a busy machine does not disturb.

The simulator has the same rows, speeds, passes and room. Without look-ahead, what it prepares is
what the order and the cache make of it; with it, it runs the engine as the daemon does. Asked: live
at most 5 % above the simulator without look-ahead, and nobody 10 % slower than alone.

    python benchmarks/bench_out_of_step.py --cache 0.01,0.05,0.2,0.5 --rows 10000 [--sleep]
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
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, report

from joader.engine import Limits

BATCH = 8
WORDS = 256
SAMPLE_BYTES = 8 * WORDS
COST_S = 0.001
# Speed in samples a second, arrival in parts of a pass of the first job, passes.
CASES = {
    "1:4": ((200.0, 0.0, 1), (800.0, 0.0, 4)),
    "30 % apart": ((500.0, 0.0, 3), (500.0, 0.3, 3)),
    "quarters": tuple((250.0, quarter / 4, 3) for quarter in range(4)),
}
SAMPLERS = {"shared": "streams", "joint": "dependent"}


class Costly:
    """Rows of 2 KiB that take a fixed time of one core each."""

    def __init__(self, length: int, sleeps: bool) -> None:
        self.length, self.sleeps = length, sleeps

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> np.ndarray:  # type: ignore[type-arg]
        if self.sleeps:
            time.sleep(COST_S)
            return np.full(WORDS, row)
        end = time.thread_time() + COST_S
        while time.thread_time() < end:
            pass
        return np.full(WORDS, row)


def job(options: argparse.Namespace) -> None:
    """Be one job: say ready, wait for the go, train at a fixed rate, say what came."""
    import joader

    warm = joader.DataLoader(Costly(32, options.sleep), batch_size=BATCH, key="warm up")
    for _ in warm:
        pass
    warm.close()
    loader = joader.DataLoader(
        Costly(options.rows, options.sleep),
        batch_size=BATCH,
        shuffle=True,
        order=options.order,
        key="costly",
        deterministic=True,
    )
    print("ready", flush=True)
    sys.stdin.readline()
    started = next_step = time.perf_counter()
    tell_at = {int(part * options.rows / BATCH) for part in map(float, options.tell_at.split(","))}
    for number in range(options.passes):
        rows = []
        for batch in loader:
            rows.append(batch[:, 0])
            if number == 0 and len(rows) in tell_at:
                print("there", flush=True)
            # A step takes its time whether or not the batch came late.
            next_step = max(next_step, time.perf_counter()) + len(batch) / options.speed
            time.sleep(max(0.0, next_step - time.perf_counter()))
        assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(options.rows)), "not once"
    seconds = time.perf_counter() - started
    found = loader.stats()
    loader.close()
    said = {"delivered": found.delivered, "prepared": found.prepared, "wait_s": found.wait_s}
    print(json.dumps({"rate": found.delivered / seconds, **said}), flush=True)


def run(
    jobs: Any, cache: float, options: argparse.Namespace, order: str = "shared"
) -> list[dict[str, float]]:
    """Run these jobs on a daemon of their own; return what each got."""
    folder = Path(tempfile.mkdtemp(prefix="joader-bench-"))
    environment = {**os.environ, "JOADER_RUNTIME": str(folder)}
    memory = int(cache * options.rows) * SAMPLE_BYTES
    daemon = subprocess.Popen(
        [
            *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
            *(f"--memory={memory}", f"--workers={options.workers}", "--idle=0"),
        ],
        env=environment,
    )
    while not (folder / "daemon.sock").exists():
        time.sleep(0.02)
    processes = []
    for speed, _, passes in jobs:
        command = [sys.executable, __file__, "--job", f"--rows={options.rows}"]
        command += [f"--speed={speed}", f"--passes={passes}"]
        command += [f"--tell-at={','.join(str(arrival) for _, arrival, _ in jobs)}"]
        command += [f"--order={order}", *(["--sleep"] if options.sleep else [])]
        pipe = subprocess.PIPE
        processes.append(
            subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        )
        assert processes[-1].stdout is not None
        assert processes[-1].stdout.readline().strip() == "ready"
    for process, (_, arrival, _) in zip(processes, jobs, strict=True):
        if arrival:  # as far as the first has come, not by the clock: the machine may be busy
            assert processes[0].stdout is not None
            assert processes[0].stdout.readline().strip() == "there"
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0].split("\n")[-2]) for process in processes]
    daemon.terminate()
    daemon.wait()
    shutil.rmtree(folder)
    return results


def simulated(jobs: Any, cache: float, rows: int, order: str, **as_live: Any) -> float:
    """Return prepared ÷ delivered of the simulator, without look-ahead unless told otherwise."""
    from joader.simulator import Job, simulate

    given = [
        Job(np.arange(rows), speed, arrival * rows / jobs[0][0], passes)
        for speed, arrival, passes in jobs
    ]
    found = simulate(given, SAMPLERS[order], capacity=int(cache * rows), **as_live)
    return found.prepared / found.delivered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--cache", default="0.01,0.05,0.2,0.5")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--speed", type=float)
    parser.add_argument("--passes", type=int)
    parser.add_argument("--tell-at", default="0")
    parser.add_argument("--orders", default="shared,joint")
    parser.add_argument("--order")
    parser.add_argument("--sleep", action="store_true")
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    results: list[dict[str, object]] = []
    for case in options.cases.split(","):
        jobs = CASES[case]
        speeds = {speed for speed, _, _ in jobs}
        by_speed = {one: run([(one, 0.0, 1)], 0.05, options)[0]["rate"] for one in speeds}
        alone = [by_speed[speed] for speed, _, _ in jobs]
        for cache, order in product(
            map(float, options.cache.split(",")), options.orders.split(",")
        ):
            runs = [run(jobs, cache, options, order) for _ in range(options.repeats)]
            live = [sum(j["prepared"] for j in r) / sum(j["delivered"] for j in r) for r in runs]
            rates = [statistics.median(r[n]["rate"] for r in runs) for n in range(len(jobs))]
            expected = simulated(jobs, cache, options.rows, order)
            ahead = simulated(jobs, cache, options.rows, order, batch_size=BATCH, limits=Limits())
            row: dict[str, object] = {
                "case": case,
                "cache": cache,
                "order": order,
                "prepared_per_delivered": round(statistics.median(live), 4),
                "spread": [round(each, 4) for each in sorted(live)],
                "simulated": round(expected, 4),
                "simulated_with_look_ahead": round(ahead, 4),
                "over_simulated": round(statistics.median(live) / expected, 3),
                "needed": 1.05,
                "per_s": [round(rate, 1) for rate in rates],
                "per_s_over_alone": [round(r / a, 3) for r, a in zip(rates, alone, strict=True)],
            }
            results.append(row)
            print(row, flush=True)
    method = (
        f"{options.rows} rows of {1000 * COST_S:g} ms{' of sleep' if options.sleep else ''}, "
        f"batch {BATCH}, {options.workers} workers"
    )
    report("out_of_step", machine(), f"{method}, {options.repeats} repeats", results)


if __name__ == "__main__":
    main()
