"""Run seeded faults on real nodes, several at a time: `python -m tests.faults.run --faults 1000`.

Faults are dealt out to *lives* of a few faults each. What was broken is printed with the command
that lives the same life again. `--report FILE` keeps the counts as JSON.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.faults.life import Life, live
from tests.faults.points import Point, dealt

PER_LIFE = 5


def lives_of(faults: int, seed: int, only: str) -> dict[int, list[Point]]:
    """Return the seeds of all lives, each with its points; a longer run begins like a shorter."""
    points = dealt(faults, seed, only)
    starts = range(0, faults, PER_LIFE)
    return {seed * 1_000_000 + n: points[at : at + PER_LIFE] for n, at in enumerate(starts)}


def again(life: int, options: argparse.Namespace) -> str:
    words = f"--faults {options.faults} --seed {options.seed} --stop-s {options.stop_s:g}"
    words += f" --only '{options.only}'" if options.only else ""
    return f"python -m tests.faults.run {words} --life {life}"


def summary(lives: list[Life], seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    """Return what `--report` writes."""
    fired = Counter(name for life in lives for name in life.fired)
    groups: Counter[str] = Counter()
    for name, count in fired.items():
        groups[" ".join(name.split()[:2])] += count
    return {
        "seed": options.seed,
        "stop_s": options.stop_s,
        "seconds": round(seconds, 1),
        "lives": len(lives),
        "faults": fired.total(),
        "did_not_come_by": [name for life in lives for name in life.unfired],
        "rows_read": sum(life.rows for life in lives),
        "broken": [asdict(life) for life in lives if life.violation],
        "by_victim_and_kind": dict(sorted(groups.items())),
        "by_point": dict(sorted(fired.items())),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--stop-s", type=float, default=1.0, help="how long a process is stopped")
    parser.add_argument("--only", default="", help="faults with this in their name: 'daemon stop'")
    parser.add_argument("--life", type=int, help="live only this one")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    lives = lives_of(options.faults, options.seed, options.only)
    if options.life is not None:
        lives = {options.life: lives[options.life]}
    started, done = time.monotonic(), []
    with ProcessPoolExecutor(options.parallel, mp_context=get_context("spawn")) as pool:
        running = [
            pool.submit(live, seed, points, options.stop_s) for seed, points in lives.items()
        ]
        for finished in as_completed(running):
            life = finished.result()
            done.append(life)
            if life.violation:
                print(f"\nBROKEN in life {life.seed}: {life.violation}", flush=True)
                print(f"again: {again(life.seed, options)}", flush=True)
            _progress(done, len(lives), time.monotonic() - started)
    report = summary(done, time.monotonic() - started, options)
    if options.report:
        options.report.write_text(json.dumps(report, indent=1))
    broken = len(report["broken"])
    print(
        f"\n{report['faults']} faults in {report['lives']} lives and {report['seconds']} s: "
        f"{report['by_victim_and_kind']}; {report['rows_read']} rows read; "
        f"did not come by: {report['did_not_come_by'] or 'none'}; {broken} broken"
    )
    return 1 if broken else 0


def _progress(done: list[Life], lives: int, seconds: float) -> None:
    fired = sum(len(life.fired) for life in done)
    broken = sum(bool(life.violation) for life in done)
    end = "\r" if sys.stdout.isatty() else "\n"
    text = f"{len(done)}/{lives} lives, {fired} faults, {broken} broken, {seconds:.0f} s"
    print(text, end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())
