"""What watching costs: the daemon, the dashboard and an open page, while four jobs read.

    python benchmarks/bench_screens.py [--seconds 60] [--open 900]

Processor time from /proc over `--seconds` each: without a dashboard, with one that nobody looks
at, and with its page open in a real browser (chromium, by playwright; without them the page is
left out). Then the page stays open for `--open` seconds: what its heap holds after a collection,
its elements and listeners, and the dashboard's memory, at the start and at the end. At last the
start of two commands. Anybody else's load on the machine makes all of it worse.
"""

import argparse
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import machine, report
from live_jobs import joader, node, processor_s, reading, status

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
LOOKS = 3
# Four jobs on the same rows, one slower: about 400 samples a second together.
JOBS = [
    {"name": name, "dataset": "photos", "row_s": 0.003, "batch": 32, "workers": 1}
    | {"step_s": step_s}
    for name, step_s in (("one", 0.3), ("two", 0.3), ("three", 0.3), ("slow", 0.45))
]
SETTLE_S = 15  # until the page has drawn itself some times


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def percent_of_a_core(pids: dict[str, int], seconds: float) -> dict[str, float]:
    """Return what each process takes for so long."""
    before, started = {name: processor_s([pid]) for name, pid in pids.items()}, time.monotonic()
    time.sleep(seconds)
    taken = time.monotonic() - started
    return {
        name: round(100 * (processor_s([pid]) - before[name]) / taken, 2)
        for name, pid in pids.items()
    }


@contextmanager
def page(url: str) -> Iterator[Any]:
    """Have the page open, with the browser's own tools attached."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        tab.goto(url)
        tools = tab.context.new_cdp_session(tab)
        tools.send("Performance.enable")
        yield tools
        browser.close()


def held(tools: Any, dashboard: int) -> dict[str, float]:
    """Return what page and dashboard hold, garbage aside."""
    tools.send("HeapProfiler.collectGarbage")
    told = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return {
        "heap_mib": round(told["JSHeapUsedSize"] / 2**20, 2),
        "elements": told["Nodes"],
        "listeners": told["JSEventListeners"],
        "task_s": round(told["TaskDuration"], 2),
        "dashboard_mib": resident_mib(dashboard),
    }


def measured(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    daemon = {"daemon": int(status()["pid"])}
    yield {"what": "no dashboard", **percent_of_a_core(daemon, options.seconds)}
    address = json.loads(joader("dashboard", "--no-browser", "--json"))
    both = {**daemon, "dashboard": int(address["pid"])}
    yield {"what": "nobody looks", **percent_of_a_core(both, options.seconds)}
    try:
        yield from with_a_page(options, both, address)
    finally:
        os.kill(address["pid"], signal.SIGTERM)


def with_a_page(
    options: argparse.Namespace, both: dict[str, int], address: dict[str, Any]
) -> Iterator[dict[str, object]]:
    if CHROMIUM is None:
        print("no chromium: the open page is not measured")
    else:
        with page(address["url"]) as tools:
            time.sleep(SETTLE_S)
            yield {"what": "a page is open", **percent_of_a_core(both, options.seconds)}
            started = time.monotonic()
            for part in range(LOOKS + 1):
                time.sleep(max(0.0, started + options.open * part / LOOKS - time.monotonic()))
                age = round(time.monotonic() - started)
                yield {"what": "the open page", "after_s": age, **held(tools, address["pid"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--open", type=float, default=900.0)
    options = parser.parse_args()
    where = machine()
    print(where)
    rows: list[dict[str, object]] = []
    with node(2, "--no-dashboard") as folder, reading(folder, JOBS):
        for row in measured(options):
            rows.append(row)
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    method = "percent of one core over --seconds from /proc/PID/stat; the page's heap by CDP"
    report("screens", where, method, rows)


if __name__ == "__main__":
    main()
