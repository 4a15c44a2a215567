"""Let jobs come, leave, die and go on for minutes, and see that no promise breaks: `make soak`.

One to thirty-two jobs read parts of a few datasets at random speeds. Jobs, their nurseries and
workers are killed and stopped, a job's own process or all of them; the daemon is killed or ended
and started again, at once or after a while in which jobs have to do without one: with torch loaded,
as here, they go on with torch's workers. What each job reads is accounted for
while it reads; every now and then all jobs are let finish, and the daemon must hold nothing then.
"""

import argparse
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from tests.faults import family
from tests.faults.family import state
from tests.faults.injector import Armed
from tests.faults.life import end_all, left
from tests.faults.node import Node, Violation, adopt_orphans, descriptors
from tests.soak.crowd import Crowd
from tests.soak.meter import Meter
from tests.soak.report import figures, write

MOST_JOBS = 32
# Mean seconds from one to the next. Workers live long enough between two kills that no sample
# loses both its tries by our doing.
EVERY_S = {
    "kill job": 1.5,
    "stop job": 4.0,
    "freeze job": 10.0,
    "kill nursery": 6.0,
    "stop nursery": 8.0,
    "kill worker": 20.0,
    "stop worker": 15.0,
    "daemon": 50.0,
    "outage": 50.0,
}
LEAST_S = {"kill worker": 15.0, "daemon": 20.0, "outage": 20.0}
OUTAGE_S = 3.0
TARGET_S, SAMPLE_S, QUIET_S = 8.0, 1.0, 90.0


class Soak:
    """A node, its crowd, and what is done to them."""

    def __init__(
        self, folder: Path, seed: int, memory_bytes: int, workers: int, outages: bool
    ) -> None:
        self.random = Random(seed)
        self.node = Node(folder, memory_bytes, workers, wrapped=False)
        # Who must not load by itself would fail in an outage, as it should.
        self.crowd = Crowd(self.node, self.random, fallback=1.0 if outages else 0.3)
        self._every_s = {k: s for k, s in EVERY_S.items() if outages or k != "outage"}
        self.meter = Meter(self.node)
        self.counts: Counter[str] = self.crowd.counts
        self.born = time.monotonic()
        self._target = 4
        self._due = dict.fromkeys(("target", "sample", "quiet", *EVERY_S), 0.0)
        self._stopped: dict[int, float] = {}  # workers and nurseries, and until when

    def start_daemon(self) -> None:
        self.node.start()
        assert self.node.daemon is not None
        if not self.node.fresh:
            self.node.status()
            self.node.fresh = descriptors(self.node.daemon.pid)
        self.born = time.monotonic()

    def step(self, *, quiet: bool = False) -> None:
        """Do what is due; with `quiet` nothing is done to anybody."""
        self.crowd.tend()
        self._resume_stopped()
        daemon = self.node.daemon
        if daemon is None or daemon.poll() is not None:
            raise Violation(f"the daemon ended by itself: {daemon and daemon.returncode}")
        now = time.monotonic()
        if now >= self._due["sample"]:
            self._due["sample"] = now + SAMPLE_S
            self.meter.take(now - self.born)
        if quiet:
            return
        if now >= self._due["target"]:
            self._due["target"] = now + self.random.expovariate(1 / TARGET_S)
            self._target = self.random.randint(1, MOST_JOBS)
        if len(self.crowd.members) < self._target:
            self.crowd.join()
        for what, mean_s in self._every_s.items():
            if now >= self._due[what]:
                wait_s = max(self.random.expovariate(1 / mean_s), LEAST_S.get(what, 0.0))
                first = not self._due[what]
                self._due[what] = now + wait_s
                if not first:
                    self._do(what)

    def _do(self, what: str) -> None:
        match what:
            case "kill job":
                self.crowd.kill()
            case "stop job":
                self.crowd.stop()
            case "freeze job":
                self.crowd.stop(frozen=True)
            case "kill worker":
                self._signal("worker", signal.SIGKILL)
            case "stop worker":
                self._signal("worker", signal.SIGSTOP)
            case "kill nursery":
                self._signal("nursery", signal.SIGKILL)
            case "stop nursery":
                self._signal("nursery", signal.SIGSTOP)
            case "daemon":
                self.restart_daemon(self.random.choice([signal.SIGKILL, signal.SIGTERM]))
            case "outage":
                self.leave_alone()

    def _signal(self, role: str, number: int) -> None:
        """Kill or stop one of the processes that jobs have borne."""
        pids = family.found(role)
        if not pids:
            return
        pid = self.random.choice(pids)
        if number == signal.SIGSTOP:
            self._stopped[pid] = time.monotonic() + self.random.uniform(0.2, 4.0)
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            many = {"worker": "workers", "nursery": "nurseries"}[role]
            self.counts[f"{many} {'stopped' if number == signal.SIGSTOP else 'killed'}"] += 1

    def _resume_stopped(self, *, all_of_them: bool = False) -> None:
        for pid, until in list(self._stopped.items()):
            if all_of_them or time.monotonic() >= until:
                del self._stopped[pid]
                if state(pid) == "T":
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)

    def restart_daemon(self, number: int) -> None:
        """End the daemon, with or without warning; nobody is forked while the lock is held."""
        assert self.node.daemon is not None
        self._resume_stopped(all_of_them=True)
        with self.node.lock():
            self.node.daemon.send_signal(number)
            deadline = time.monotonic() + 30.0
            while self.node.daemon.poll() is None:
                self.crowd.tend_living()
                if time.monotonic() > deadline:
                    raise Violation("the daemon does not end in 30 s after SIGTERM")
                time.sleep(0.01)
            if number == signal.SIGTERM and self.node.daemon.returncode != 0:
                raise Violation(f"the daemon ended with {self.node.daemon.returncode}")
            self.start_daemon()
        self.counts["daemons killed" if number == signal.SIGKILL else "daemons ended"] += 1

    def leave_alone(self) -> None:
        """Kill the daemon, and let no other be started for a while."""
        assert self.node.daemon is not None
        self._resume_stopped(all_of_them=True)
        barred = Armed(self.node.folder)
        barred.bar()
        self.node.daemon.kill()
        self.node.daemon.wait()
        deadline = time.monotonic() + OUTAGE_S
        while time.monotonic() < deadline:
            self.crowd.tend()
            time.sleep(0.01)
        with self.node.lock():  # no job starts one of its own
            barred.bar(again=True)
            self.start_daemon()
        self.counts["outages"] += 1

    @property
    def quiet_is_due(self) -> bool:
        if not self._due["quiet"]:
            self._due["quiet"] = time.monotonic() + QUIET_S
        return time.monotonic() >= self._due["quiet"]

    def come_to_rest(self) -> None:
        """Let all jobs finish, and see that the daemon holds nothing then."""
        while self.crowd.members:
            self.step(quiet=True)
            time.sleep(0.01)
        self._resume_stopped(all_of_them=True)
        self.node.keeps = True
        self.node.check_idle()
        self.node.wait("nothing is left of jobs", lambda: not family.found(*family.ROLES))
        self.counts["came to rest"] += 1
        self._due["quiet"] = time.monotonic() + QUIET_S

    def end(self) -> None:
        """See that nothing is left of anything."""
        self.come_to_rest()
        self.node.down()
        for log in (self.node.log, self.node.folder / "jobs.log"):
            if log.exists() and "Traceback" in log.read_text():
                raise Violation(f"somebody raised: {log.read_text()[-3000:]}")
        self.node.wait("no process is left", lambda: not left())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory-mib", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--without-outages", action="store_true", help="nor torch: there is always a daemon"
    )
    parser.add_argument("--report", type=Path, help="a file, .md or .json")
    options = parser.parse_args()
    if not options.without_outages:
        importlib.import_module("torch")  # once, for all jobs: they are forked from here
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="js-"))
    memory_bytes = int(options.memory_mib * 2**20)
    outages = not options.without_outages
    soak = Soak(folder / "n", options.seed, memory_bytes, options.workers, outages)
    started, broken = time.monotonic(), ""
    try:
        run(soak, options.minutes * 60.0)
        soak.meter.check_flat()
    except (Exception, KeyboardInterrupt) as error:
        broken = f"{type(error).__name__}: {error}"
    finally:
        end_all()
    told = figures(soak, time.monotonic() - started, options, broken)
    console = Console()
    console.print_json(data=told)
    if options.report:
        write(options.report, told)
    if broken:
        console.print(f"BROKEN: {broken}", markup=False)
        console.print(f"The daemon's log ends:\n{soak.node.tail()}", markup=False)
        console.print(f"Kept for a look: {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    console.print(f"No promise broke in {told['minutes']} minutes.")
    return 0


def run(soak: Soak, seconds: float) -> None:
    """Soak for so long, showing how it goes."""
    soak.start_daemon()
    ends = time.monotonic() + seconds
    columns = (BarColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=seconds, text="")
        while (left_s := ends - time.monotonic()) > 0:
            soak.step()
            if soak.quiet_is_due:
                soak.come_to_rest()
            progress.update(task, completed=seconds - left_s, text=_line(soak))
            time.sleep(0.01)
        soak.end()


def _line(soak: Soak) -> str:
    last = soak.meter.samples[-1:] or [None]
    counts = soak.counts
    kills = sum(n for name, n in counts.items() if name.endswith(("killed", "stopped", "ended")))
    text = (
        f"{len(soak.crowd.alive)} jobs of {counts['jobs']}, {soak.crowd.rows} rows, {kills} faults"
    )
    if last[0] is not None:
        text += f", daemon {last[0].own_bytes / 2**20:.0f} MiB + {last[0].used_bytes / 2**20:.1f}"
    return text


if __name__ == "__main__":
    sys.exit(main())
