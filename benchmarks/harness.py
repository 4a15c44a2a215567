"""What every benchmark prints and keeps: the machine, the method, the figures."""

import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, str | int]:
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def report(
    name: str, where: dict[str, str | int], method: str, rows: list[dict[str, object]]
) -> None:
    """Write results/<name>.json with the command that made it."""
    command = "python " + " ".join(["benchmarks/" + Path(sys.argv[0]).name, *sys.argv[1:]])
    RESULTS.mkdir(exist_ok=True)
    body = {"command": command, "machine": where, "method": method, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(body, indent=1) + "\n")
