"""What of a machine joader cannot live with is found."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from joader.cli.doctor import machine
from joader.daemon.door import most_clients


def test_too_few_descriptors_are_bad_and_stay_as_they_were() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    list(machine.limits())
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "from joader.cli.doctor.machine import limits\nprint([f.level for f in limits()])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "'bad'" in run.stdout
    assert most_clients(1) >= 8


@pytest.mark.parametrize(
    ("free_kib", "overcommit", "levels"),
    [(8 << 20, "0", {"ok"}), (512 << 10, "0", {"ok", "warn"}), (8 << 20, "2", {"ok", "warn"})],
)
def test_memory_of_a_machine(
    tmp_path: Path, free_kib: int, overcommit: str, levels: set[str]
) -> None:
    (tmp_path / "proc/sys/vm").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/meminfo").write_text(
        f"MemAvailable: {free_kib} kB\nCommitLimit: {free_kib} kB\nCommitted_AS: 0 kB\n"
    )
    (tmp_path / "proc/sys/vm/overcommit_memory").write_text(overcommit)
    assert {finding.level for finding in machine.memory(tmp_path)} == levels
