"""How long does a table of 1.3 million rows take to open, and a predicate on it to answer?

The row table has a path, a label, a width and a height. *open*: a process that has imported joader
opens the table and has its row numbers; *first predicate*: with the start of DuckDB; the others:
each in a process that has asked before. Besides: indexing files of a folder, and looking again.
Every figure is the median over fresh processes, or over calls.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import machine, report

import joader

ROWS = 1_300_000
FILES = 50_000
PREDICATES = {
    "two conditions on numbers": "label < 100 and width >= 256",
    "four conditions on numbers": "label < 500 and width > 300 and height < 600 and label <> 7",
    "a list of labels": "label in (1, 5, 7)",
    "a pattern of paths": "path like '%_12%'",
}
NEEDED = {"open": 500, **dict.fromkeys(list(PREDICATES)[:3], 50)}
CHILD = """
import json, sys, time
import numpy, pyarrow, joader, joader.catalog
start = time.perf_counter()
table = joader.open("rows")
table.rows()
found = {"open": time.perf_counter() - start}
for name, where in json.loads(sys.argv[1]).items():
    times = []
    for _ in range(9):
        start = time.perf_counter()
        table.rows(where)
        times.append(time.perf_counter() - start)
    found.setdefault("first predicate", times[0])
    found[name] = sorted(times)[4]
print(json.dumps(found))
"""


def make_table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "path": [f"n{n % 1000:08}/image_{n}.JPEG" for n in range(ROWS)],
        "label": rng.integers(0, 1000, ROWS),
        "width": rng.integers(100, 800, ROWS),
        "height": rng.integers(100, 800, ROWS),
        "image": pa.array([b"x"] * ROWS),
    }
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    joader.create("rows", folder / "rows.parquet")


def opening(repeats: int) -> list[dict[str, object]]:
    command = [sys.executable, "-c", CHILD, json.dumps(PREDICATES)]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(repeats)]
    rows: list[dict[str, object]] = []
    for name in runs[0]:
        times = [1000 * run[name] for run in runs]
        middle = round(statistics.median(times), 1)
        spread = [round(min(times), 1), round(max(times), 1)]
        rows.append({"case": name, "ms": middle, "spread": spread, "needed": NEEDED.get(name)})
    return rows


def indexing(folder: Path) -> list[dict[str, object]]:
    for number in range(FILES):
        place = folder / "files" / f"c{number % 100:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.jpg").write_bytes(b"x")
    rows: list[dict[str, object]] = []
    for case in ("index files", "look again, nothing new"):
        start = time.perf_counter()
        joader.create("files", folder / "files", exist_ok=True)
        seconds = time.perf_counter() - start
        rows.append({"case": case, "files_per_s": round(FILES / seconds), "needed": None})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        os.environ["JOADER_CATALOG"] = f"{name}/catalog"
        make_table(Path(name))
        results = [*opening(repeats), *indexing(Path(name))]
    for row in results:
        print(row, flush=True)
    where = {**machine(), "pyarrow": pa.__version__}
    report("catalog", where, f"{ROWS} rows; medians of {repeats} processes", results)


if __name__ == "__main__":
    main()
