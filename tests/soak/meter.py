"""What a daemon uses while a soak goes on, and whether it stays flat."""

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.faults.node import Node, Violation, descriptors

GROWTH_BYTES = 24 * 2**20  # of a daemon's own memory, from its first minute to its last
WARM_UP_S = 20.0
# Descriptors: a socket and a pidfd for a job, and as many for its nursery; for a worker also its
# desk, of which Python's mmap has one more.
PER_JOB, PER_WORKER = 4, 4


@dataclass(frozen=True)
class Sample:
    """A daemon at one moment; its memory without what it shares."""

    pid: int
    age_s: float
    own_bytes: int
    descriptors: int
    used_bytes: int
    pinned_bytes: int
    jobs: int


class Meter:
    """Samples of all daemons of a soak."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.samples: list[Sample] = []

    def take(self, age_s: float) -> Sample:
        """Look at the daemon, and see that it is within its budget."""
        status = self._node.status()
        memory, pid = status["memory"], status["pid"]
        held = descriptors(pid)
        jobs = len(status["jobs"])
        sample = Sample(
            *(pid, age_s, own_bytes(pid), held.total()),
            *(memory["used_bytes"], memory["pinned_bytes"], jobs),
        )
        self.samples.append(sample)
        if not sample.pinned_bytes <= sample.used_bytes <= memory["budget_bytes"]:
            raise Violation(f"the daemon's memory is beyond its budget: {memory}")
        # Some more may be at the door, or just gone.
        most = self._node.fresh.total()
        most += PER_WORKER * (status["workers"] + 32) + PER_JOB * (jobs + 32)
        if sample.descriptors > most:
            raise Violation(f"{jobs} jobs, and the daemon has descriptors {dict(held)}")
        return sample

    def check_flat(self) -> list[dict[str, Any]]:
        """See that no daemon grew; return first and last of each that lived long enough."""
        told = []
        for pid in dict.fromkeys(sample.pid for sample in self.samples):
            of_it = [s for s in self.samples if s.pid == pid and s.age_s >= WARM_UP_S]
            if len(of_it) < 8:
                continue
            quarter = len(of_it) // 4
            first = median(sample.own_bytes for sample in of_it[:quarter])
            last = median(sample.own_bytes for sample in of_it[-quarter:])
            lived_s = of_it[-1].age_s
            told.append({"pid": pid, "seconds": lived_s, "first": first, "last": last})
            if last - first > GROWTH_BYTES:
                raise Violation(
                    f"daemon {pid} grew from {first / 2**20:.1f} to {last / 2**20:.1f} MiB in "
                    f"{lived_s:.0f} s"
                )
        return told


def own_bytes(pid: int) -> int:
    """Return the memory of a process that is its alone."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0
