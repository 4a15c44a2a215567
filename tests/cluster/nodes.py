"""Several daemons on one machine that take each other for machines, and jobs on each of them.

A `Nodes` is a cluster on the loopback; with `apart=True` every node has a network of its own, in a
namespace, and a cable to a common bridge that can be pulled.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from joader.daemon.lifecycle import connected
from tests.processes.conftest import processes_with
from tests.processes.jobs import wait_until
from tests.warm import process as warm

KEY = "a key for tests of clusters"
# Rows are random bytes by their number: a job checks all bytes that it gets.
JOB = '''
import json, os, sys, time
import numpy as np
import joader

OPTIONS = json.loads(sys.argv[1])

def expected(row):
    return np.random.default_rng(row).integers(0, 256, 3000 + row % 7, np.uint8)

expected(0)  # numpy.random is loaded now: what code reads is part of a dataset's name

class Rows:
    def __init__(self, length, slow_s):
        self.length, self.slow_s = length, slow_s

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        time.sleep(self.slow_s)
        with open("prepared", "a") as file:
            file.write(f"{row}\\n")
        return expected(row), row

class File:
    """Rows of a file: its path is all that jobs know of it."""

    def __init__(self, path, length):
        self.path, self.length = path, length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        with open(self.path, "rb") as file:
            file.seek(row * 100)
            return np.frombuffer(file.read(100), np.uint8).copy(), row

class Random(Rows):
    def __getitem__(self, row):
        values, row = super().__getitem__(row)
        return np.append(values, np.random.default_rng().integers(0, 256, 16, np.uint8)), row

def doubled(sample):
    values, row = sample
    return values.astype(np.uint16) * 2, row

def apart(samples):
    return [values for values, _ in samples], [row for _, row in samples]

path = OPTIONS.get("file")
declared = OPTIONS.get("deterministic", True)
Rows = Random if OPTIONS.get("random") else Rows
data = File(path, OPTIONS["rows"]) if path else Rows(OPTIONS["rows"], OPTIONS.get("slow_s", 0.002))
own = bool(OPTIONS.get("own"))
options = {"shuffle": True, **OPTIONS.get("loader", {})}
loader = joader.DataLoader(
    data, batch_size=16, deterministic=declared, num_workers=1, collate_fn=apart,
    transform=doubled if own else None, timeout=60, **options,
)
print(json.dumps("ready"), flush=True)
while not os.path.exists(OPTIONS.get("go", "go")):
    time.sleep(0.01)
longest, had = 0.0, set()
for epoch in range(OPTIONS.get("epochs", 1)):
    seen, since = [], time.monotonic()
    for arrays, rows in loader:
        longest = max(longest, time.monotonic() - since)
        for array, row in zip(arrays, rows):
            if path:
                want = np.frombuffer(open(path, "rb").read()[row * 100 : row * 100 + 100], np.uint8)
            else:
                want = expected(row)
            want = want.astype(np.uint16) * 2 if own else want
            if OPTIONS.get("random"):
                array, end = array[:-16], bytes(np.asarray(array[-16:]))
                assert (row, end) not in had, row  # no random sample comes twice
                had.add((row, end))
            assert np.array_equal(np.asarray(array), want), row
            seen.append(int(row))
        if OPTIONS.get("pause") == len(seen):  # until a test says to go on
            me = os.environ["JOADER_NODE"]
            open(f"paused-{me}", "w").close()
            while not os.path.exists(f"go-on-{me}"):
                time.sleep(0.01)
        time.sleep(OPTIONS.get("rest_s", 0.0))
        since = time.monotonic()
    assert sorted(seen) == list(range(OPTIONS["rows"])), (len(seen), len(set(seen)))
    print(json.dumps(seen), flush=True)
print(json.dumps({"longest_s": longest, "delivered": loader.stats().delivered}), flush=True)
loader.close()
'''


class NodeJob:
    """A training script on a node."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.process = warm.Process(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]

    def result(self, timeout_s: float = 60.0) -> list[Any]:
        out, err = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]


class Nodes:
    """A cluster in a folder."""

    def __init__(self, folder: Path, apart: bool = False) -> None:
        self.folder = folder
        self.apart = apart
        self.rejoins = False  # daemons that jobs start join, too
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.jobs: list[NodeJob] = []
        self._networks: dict[str, str] = {}
        self._uncertain: set[str] = set()  # nodes whose daemons may not come up
        self._hub = f"jh{os.getpid() % 10000}"
        (folder / "job.py").write_text(JOB)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        if apart:
            self.address = "10.77.0.1:27117"
            _ip("netns", "add", self._hub)
            _ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
            _ip("-n", self._hub, "link", "set", "bridge", "up")

    # Nodes.

    def up(self, *names: str, memory: str = "64MiB", wait: bool = True) -> None:
        for name in names:
            run = self.run(name)
            run.mkdir(mode=0o700, exist_ok=True)
            if self.apart and name not in self._networks:
                self._plug_in(name)
            with (run / "daemon.log").open("ab") as log:
                self.daemons[name] = warm.Process(
                    [
                        *self._inside(name),
                        *(sys.executable, "-m", "joader.daemon.main"),
                        *(f"--socket={run}/daemon.sock", f"--memory={memory}", "--workers=1"),
                        *("--idle=0", f"--cluster={self.address}"),
                    ],
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=self.environment(name),
                )
            if not wait:
                self._uncertain.add(name)
            else:
                wait_until(lambda name=name: self.listens(name) or self.has_ended(name))
                assert not self.has_ended(name), self.log(name)

    def has_ended(self, name: str) -> bool:
        return self.daemons[name].poll() is not None

    def listens(self, name: str) -> bool:
        sock = connected(self.run(name) / "daemon.sock")
        if sock is not None:
            sock.close()
        return sock is not None

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        daemon = self.daemons.pop(name)
        daemon.send_signal(number)
        daemon.wait(20)

    def run(self, name: str) -> Path:
        return self.folder / f"run-{name}"

    def log(self, name: str) -> str:
        return (self.run(name) / "daemon.log").read_text()

    def environment(self, name: str) -> dict[str, str]:
        return {
            **os.environ,
            "JOADER_RUNTIME": str(self.run(name)),
            "JOADER_NODE": name,
            "JOADER_CLUSTER_KEY": KEY,
            **({"JOADER_CLUSTER": self.address} if self.rejoins else {}),
            "JOADER_QUIET": "1",
            "JOADER_IDLE_S": "1",
        }

    def status(self, name: str) -> dict[str, Any]:
        shown = warm.run(
            [sys.executable, "-m", "joader", "status", "--json"],
            env=self.environment(name),
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(shown.stdout)
        return found

    def members(self, name: str) -> list[str]:
        return sorted(node["name"] for node in self.status(name)["cluster"]["nodes"])

    # Jobs.

    def job(self, name: str, *prefix: str, **options: object) -> NodeJob:
        return self.start(name, [str(self.folder / "job.py"), json.dumps(options)], *prefix)

    def start(self, name: str, script: list[str], *prefix: str, **variables: str) -> NodeJob:
        command = [*self._inside(name), *prefix, sys.executable, *script]
        job = NodeJob(command, self.folder, {**self.environment(name), **variables})
        self.jobs.append(job)
        return job

    def go(self, *jobs: NodeJob, word: str = "go") -> None:
        for job in jobs:
            job.ready()
        (self.folder / word).touch()

    def prepared(self) -> Counter[int]:
        path = self.folder / "prepared"
        return Counter(map(int, path.read_text().split()) if path.exists() else ())

    # Cables.

    def pull(self, name: str) -> None:
        _ip("-n", self._hub, "link", "set", f"to-{name}", "down")

    def plug(self, name: str) -> None:
        _ip("-n", self._hub, "link", "set", f"to-{name}", "up")

    def limit(self, name: str, rate: str) -> None:
        """Let no more leave a node than this, for example 1mbit."""
        limited = ["dev", "eth0", "root", "tbf", "rate", rate, "burst", "8kb", "latency", "400ms"]
        command = ["tc", "-n", self._networks[name], "qdisc", "add", *limited]
        subprocess.run(command, check=True, capture_output=True)

    def _plug_in(self, name: str) -> None:
        space, number = f"{self._hub}{name}", len(self._networks) + 1
        self._networks[name] = space
        _ip("netns", "add", space)
        _ip(
            *("-n", self._hub, "link", "add", f"to-{name}", "type", "veth"),
            *("peer", "name", "eth0", "netns", space),
        )
        _ip("-n", self._hub, "link", "set", f"to-{name}", "master", "bridge", "up")
        _ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")

    def _inside(self, name: str) -> list[str]:
        return ["ip", "netns", "exec", self._networks[name]] if self.apart else []

    def down(self) -> None:
        """End everything and see that nothing is left."""
        try:
            self._down()
        finally:
            for space in (*self._networks.values(), *([self._hub] if self.apart else [])):
                _ip("netns", "del", space)

    def _down(self) -> None:
        for job in self.jobs:
            if job.process.poll() is None:
                job.process.kill()
        for job in self.jobs:
            job.process.communicate(timeout=30)
        for daemon in self.daemons.values():
            daemon.send_signal(signal.SIGTERM)
        for name, daemon in self.daemons.items():
            code = daemon.wait(20)
            # One that was started anew may have met another of its name, or no leader.
            assert code == 0 or name in self._uncertain, f"{name}: {code}\n{self.log(name)}"
        wait_until(lambda: not processes_with(f"{self.folder}/", environment=True))
        for name in {path.name.removeprefix("run-") for path in self.folder.glob("run-*")}:
            assert "Traceback" not in self.log(name), self.log(name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def namespaces_work() -> bool:
    """Tell whether this process may have networks of its own."""
    if os.getuid():
        return False
    name = f"jtry{time.monotonic_ns() % 10**6}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
