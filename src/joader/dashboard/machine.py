"""How busy this machine is, whoever keeps it busy: cores, memory, disks, and GPUs if it has any.

Looked at by the dashboard, not by the daemon, and only while a page is open. Reading /proc takes
some ten microseconds a file; a GPU is asked with nvidia-smi, at most every five seconds, and not
any more after three failures. What cannot be found out is left out: None, or no GPUs.

`look` may wait for nvidia-smi, so it is called in a thread, by one caller at a time.
"""

import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from joader.daemon.machine import cores

_ROOT = Path("/")
_SECTOR_BYTES = 512  # in /proc/diskstats, whatever the disk has
_GPU_EVERY_S = 5.0
_GPU_ANSWER_S = 3.0
_MOST_FAILURES = 3
_ASK_GPUS = [
    "nvidia-smi",
    "--query-gpu=name,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
]


@dataclass(frozen=True)
class Gpu:
    """One GPU; `busy` is the part of the time in which it computed."""

    name: str
    busy: float
    used_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class MachineStatistics:
    """What the page's machine line shows, of the time since the last look."""

    cores: int = 0  # of the machine
    usable_cores: int = 0  # as far as our cgroups and affinity let us
    busy_cores: float | None = None  # whoever computes on them
    memory_bytes: int | None = None
    used_bytes: int | None = None  # what cannot be had
    read_bytes_per_s: float | None = None  # from all disks
    written_bytes_per_s: float | None = None
    disk_busy: float | None = None  # part of the time, of the busiest
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class _Disks:
    read: int
    written: int
    busy_ms: dict[str, int]


class Machine:
    """Looks at the machine again and again; rates are since the look before."""

    def __init__(self, root: Path = _ROOT, now: Callable[[], float] = time.monotonic) -> None:
        """Look at /proc and /sys below `root`, so that tests can bring their own."""
        self._root, self._now = root, now
        self._before: tuple[float, tuple[int, int] | None, _Disks | None] | None = None
        self._gpus: tuple[Gpu, ...] = ()
        self._gpus_due = 0.0
        self._failures = 0 if shutil.which(_ASK_GPUS[0]) else _MOST_FAILURES

    def look(self) -> MachineStatistics:
        """Return how busy the machine is."""
        now = self._now()
        count, ticks = self._ticks()
        disks = self._disks()
        used, memory = self._memory()
        busy = read = written = disk_busy = None
        if self._before is not None and now > self._before[0]:
            seconds = now - self._before[0]
            _, ticks_before, disks_before = self._before
            if ticks and ticks_before and ticks[1] > ticks_before[1]:
                busy = (ticks[0] - ticks_before[0]) / (ticks[1] - ticks_before[1]) * count
            if disks and disks_before:
                read = max(0, disks.read - disks_before.read) / seconds
                written = max(0, disks.written - disks_before.written) / seconds
                each = (ms - disks_before.busy_ms.get(d, ms) for d, ms in disks.busy_ms.items())
                disk_busy = min(1.0, max(each, default=0) / 1000 / seconds)
        self._before = now, ticks, disks
        self._look_at_gpus(now)
        return MachineStatistics(
            cores=count,
            usable_cores=min(count, cores(self._root)) if count else 0,
            busy_cores=None if busy is None else round(max(0.0, busy), 2),
            memory_bytes=memory,
            used_bytes=used,
            read_bytes_per_s=read,
            written_bytes_per_s=written,
            disk_busy=disk_busy,
            gpus=self._gpus,
        )

    def _ticks(self) -> tuple[int, tuple[int, int] | None]:
        """Return how many cores there are, and what they had: busy, and in all."""
        lines = [line.split() for line in self._lines("stat") if line.startswith("cpu")]
        count = sum(words[0] != "cpu" for words in lines)
        for words in lines:
            if words[0] == "cpu" and len(words) > 5:
                # Of what follows, guests' time is in the user's already.
                each = [int(word) for word in words[1:9]]
                return count, (sum(each) - each[3] - each[4], sum(each))
        return count, None

    def _memory(self) -> tuple[int | None, int | None]:
        found = {}
        for line in self._lines("meminfo"):
            words = line.split()
            if len(words) == 3:
                found[words[0]] = int(words[1]) * 1024
        total, free = found.get("MemTotal:"), found.get("MemAvailable:")
        return (None if total is None or free is None else total - free), total

    def _disks(self) -> _Disks | None:
        """Return what went to and from whole disks; what is made of others counts once."""
        read = written = 0
        busy_ms: dict[str, int] = {}
        for line in self._lines("diskstats"):
            words = line.split()
            if len(words) < 14 or not (self._root / "sys/block" / words[2] / "device").exists():
                continue
            read += int(words[5]) * _SECTOR_BYTES
            written += int(words[9]) * _SECTOR_BYTES
            busy_ms[words[2]] = int(words[12])
        return _Disks(read, written, busy_ms) if busy_ms else None

    def _lines(self, name: str) -> list[str]:
        with suppress(OSError):
            return (self._root / "proc" / name).read_text().splitlines()
        return []

    def _look_at_gpus(self, now: float) -> None:
        if self._failures >= _MOST_FAILURES or now < self._gpus_due:
            return
        self._gpus_due = now + _GPU_EVERY_S
        try:
            said = subprocess.run(
                _ASK_GPUS, capture_output=True, text=True, timeout=_GPU_ANSWER_S, check=True
            )
            self._gpus = tuple(map(_gpu, said.stdout.splitlines()))
            self._failures = 0
        except (OSError, ValueError, subprocess.SubprocessError):
            self._gpus = ()
            self._failures += 1


def _gpu(line: str) -> Gpu:
    name, busy, used, memory = (word.strip() for word in line.rsplit(",", 3))
    return Gpu(name, int(busy) / 100, int(used) << 20, int(memory) << 20)
