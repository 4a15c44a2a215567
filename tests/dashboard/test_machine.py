"""How busy the machine is: rates between two looks, and nothing where nothing can be known."""

from pathlib import Path

import pytest

from joader.dashboard.machine import Gpu, Machine

STAT = """cpu  {busy} 0 0 {idle} 50 0 0 0 {guest} 0
cpu0 1 0 0 1 0 0 0 0 0 0
cpu1 1 0 0 1 0 0 0 0 0 0
intr 5
"""
DISK = "{number} 0 {name} 1 0 {read} 1 1 0 {written} 1 0 {ms} 1 0 0 0 0\n"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a machine on paper: two cores, a disk with a partition, and no GPU."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys/block/vda/device").mkdir(parents=True)
    (tmp_path / "sys/block/loop0").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1024 kB\nMemAvailable: 256 kB\n")
    at(tmp_path)
    return tmp_path


def at(root: Path, busy: int = 0, idle: int = 0, sectors: int = 0, ms: int = 0) -> None:
    (root / "proc/stat").write_text(STAT.format(busy=busy, idle=idle, guest=busy))
    each = {"read": sectors, "written": sectors // 2, "ms": ms}
    disks = [DISK.format(number=n, name=name, **each) for n, name in enumerate(("vda", "vda1"))]
    (root / "proc/diskstats").write_text(
        "".join(disks) + DISK.format(number=7, name="loop0", **each)
    )


def test_rates_are_of_the_time_between_two_looks(root: Path) -> None:
    clock = Clock()
    machine = Machine(root, clock)
    first = machine.look()
    assert (first.cores, first.busy_cores, first.read_bytes_per_s) == (2, None, None)
    assert (first.used_bytes, first.memory_bytes) == (768 << 10, 1 << 20)
    clock.now += 2.0
    at(root, busy=300, idle=100, sectors=4096, ms=500)
    seen = machine.look()
    assert seen.busy_cores == 1.5  # a guest's time counts once
    assert (seen.read_bytes_per_s, seen.written_bytes_per_s) == (1 << 20, 1 << 19)
    assert seen.disk_busy == 0.25  # of the disk; its partition and what is made of it count with it
    assert seen.gpus == ()


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    machine = Machine(tmp_path, Clock())
    machine.look()
    seen = machine.look()
    assert (seen.cores, seen.usable_cores, seen.busy_cores) == (0, 0, None)
    assert (seen.memory_bytes, seen.used_bytes, seen.disk_busy, seen.gpus) == (None, None, None, ())


def smi(root: Path, text: str) -> None:
    file = root / "bin/nvidia-smi"
    file.write_text(f"#!/bin/sh\necho asked >> {root}/asked\n{text}\n")
    file.chmod(0o755)


def test_gpus_are_asked_every_few_seconds(root: Path) -> None:
    smi(root, "echo 'NVIDIA H200, 87, 1024, 4096'; echo 'A, B, 3, 0, 1'")
    clock = Clock()
    machine = Machine(root, clock)
    seen = machine.look()
    assert seen.gpus == (Gpu("NVIDIA H200", 0.87, 1 << 30, 4 << 30), Gpu("A, B", 0.03, 0, 1 << 20))
    clock.now += 1.0
    assert machine.look().gpus == seen.gpus
    assert (root / "asked").read_text().count("asked") == 1


@pytest.mark.parametrize("answer", ["exit 9", "echo 'No devices were found'"])
def test_gpus_that_do_not_answer_are_not_asked_for_ever(root: Path, answer: str) -> None:
    smi(root, answer)
    clock = Clock()
    machine = Machine(root, clock)
    for _ in range(9):
        clock.now += 10.0
        assert machine.look().gpus == ()
    assert (root / "asked").read_text().count("asked") == 3
