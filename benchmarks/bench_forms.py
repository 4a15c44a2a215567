"""Raw and prepared samples side by side in memory, against one form alone.

    python benchmarks/bench_forms.py [--rows 1000]

Simulated (simulator/two_forms.py): milliseconds of reading and preparing per row that a job reads.
"""

import argparse
import json
from random import Random

from harness import machine, report

from joader.cache.forms import Costs
from joader.simulator.two_forms import WAYS, spent_per_row


def datasets(rows: int) -> dict[str, list[Costs]]:
    draw = Random(1)
    sizes = [0.2 + draw.lognormvariate(-0.24, 0.69) for _ in range(rows)]
    return {
        "read 20 ms, prepare 8 ms": [Costs(0.020, 0.008, 110_000, 196_000)] * rows,
        "read 2 ms, prepare 8 ms": [Costs(0.002, 0.008, 110_000, 196_000)] * rows,
        "sizes of photos, read 20 ms": [
            Costs(0.02, 0.004 * size, int(40_000 * size), 196_000) for size in sizes
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for name, costs in datasets(options.rows).items():
        raw_bytes = sum(one.raw_bytes for one in costs)
        for part in (0.2, 0.5, 0.9, 1.2, 1.6):
            found = {way: spent_per_row(way, costs, int(part * raw_bytes)) for way in WAYS}
            ms = {way: round(1000 * spent_s, 2) for way, spent_s in found.items()}
            rows.append({"dataset": name, "memory_of_raw": part, "ms_per_row": ms})
            print(json.dumps(rows[-1]), flush=True)
    method = f"simulated, {options.rows} rows, passes 5 to 8 of a job whose order is known"
    report("forms", machine(), method, rows)


if __name__ == "__main__":
    main()
