"""What a container, a batch system or a plain machine leaves us, from files as they look there."""

import os
from pathlib import Path

import pytest

from joader.daemon.machine import cgroup, check_memory, cores, default_config, free_bytes
from joader.errors import BadArgument, WorldError

MIB, GIB = 2**20, 2**30
MEMINFO = """MemTotal:       65843064 kB
MemFree:         1048576 kB
MemAvailable:   33554432 kB
Buffers:          100000 kB
CommitLimit:    20971520 kB
Committed_AS:   10485760 kB
HugePages_Total:       0
"""


class Machine:
    """A folder with /proc and /sys."""

    def __init__(self, root: Path, cgroup: str = "") -> None:
        self.root = root
        self.write("proc/meminfo", MEMINFO)
        self.write("proc/self/cgroup", cgroup)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def cgroup(self, path: str, **values: str) -> None:
        for name, text in values.items():
            controller, _, rest = name.partition("_")
            self.write(f"sys/fs/cgroup/{path}/{controller}.{rest}", f"{text}\n")


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("", ""),
        ("0::/user.slice/job_7\n", "/user.slice/job_7"),
        ("3:cpu,cpuacct:/a\n2:memory:/slurm/job_7\n0::/init.scope\n", "/slurm/job_7"),
    ],
)
def test_the_cgroup_that_memory_counts_against_is_named(
    lines: str, name: str, tmp_path: Path
) -> None:
    Machine(tmp_path, lines)
    assert cgroup(tmp_path) == name


def test_without_cgroups_it_is_what_the_machine_has_available(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert free_bytes(tmp_path) == 32 * GIB
    assert cores(tmp_path) == len(os.sched_getaffinity(0))
    assert default_config(tmp_path).memory_bytes == 8 * GIB
    machine.write("proc/meminfo", "MemFree:         1048576 kB\n")  # kernels before 3.14
    assert free_bytes(tmp_path) == GIB


def test_a_container_has_what_its_cgroup_leaves(tmp_path: Path) -> None:
    """Docker and Kubernetes with version 2: the namespace shows the own cgroup as the root."""
    machine = Machine(tmp_path, "0::/\n")
    machine.cgroup("", memory_max=str(2 * GIB), memory_current=str(GIB), cpu_max="150000 100000")
    assert free_bytes(tmp_path) == GIB
    assert cores(tmp_path) == min(2, len(os.sched_getaffinity(0)))
    machine.cgroup("", memory_stat=f"anon 5\ninactive_file {300 * MIB}\nactive_file 7")
    assert free_bytes(tmp_path) == GIB + 300 * MIB
    assert default_config(tmp_path).memory_bytes == (GIB + 300 * MIB) // 4


def test_the_narrowest_of_all_cgroups_above_counts(tmp_path: Path) -> None:
    """systemd, or slurm: a step in a job in a user's slice."""
    machine = Machine(tmp_path, "0::/user.slice/job_7/step_0\n")
    machine.cgroup("user.slice/job_7/step_0", memory_max="max", memory_current="5", cpu_max="max 1")
    machine.cgroup("user.slice/job_7", memory_max=str(4 * GIB), memory_current=str(GIB))
    machine.cgroup("user.slice", memory_max=str(64 * GIB), memory_current=str(2 * GIB))
    assert free_bytes(tmp_path) == 3 * GIB
    machine.cgroup("user.slice/job_7", cpu_max="50000 100000")
    assert cores(tmp_path) == 1


def test_version_1_is_read_as_well(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "4:memory:/a/b\n1:cpu,cpuacct:/a/b\n0::/\n")
    unlimited = "9223372036854771712"
    machine.cgroup("memory/a/b", memory_limit_in_bytes=unlimited, memory_usage_in_bytes=str(MIB))
    machine.cgroup("memory/a", memory_limit_in_bytes=str(GIB), memory_usage_in_bytes=str(512 * MIB))
    machine.cgroup("memory/a", memory_stat=f"inactive_file 1\ntotal_inactive_file {100 * MIB}")
    machine.cgroup("cpu,cpuacct/a/b", cpu_cfs_quota_us="100000", cpu_cfs_period_us="100000")
    assert free_bytes(tmp_path) == 612 * MIB
    assert cores(tmp_path) == 1
    machine.cgroup("cpu,cpuacct/a/b", cpu_cfs_quota_us="-1")
    assert cores(tmp_path) == len(os.sched_getaffinity(0))


def test_a_container_without_a_cgroup_namespace_sees_its_own_at_the_top(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "4:memory:/docker/0123abcd\n")
    machine.cgroup("memory", memory_limit_in_bytes=str(GIB), memory_usage_in_bytes=str(GIB // 2))
    assert free_bytes(tmp_path) == GIB // 2


def test_more_than_there_is_is_refused_with_both_numbers(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "0::/\n")
    machine.cgroup("", memory_max=str(GIB), memory_current="0")
    check_memory(GIB, tmp_path)
    with pytest.raises(WorldError, match=rf"{GIB + 1} bytes .* more than the {GIB} .* --memory"):
        check_memory(GIB + 1, tmp_path)
    machine.cgroup("", memory_current=str(2 * GIB))  # over its limit for a moment
    assert free_bytes(tmp_path) == 0


def test_where_memory_is_not_overcommitted_the_rest_of_it_counts(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("proc/sys/vm/overcommit_memory", "2\n")
    assert free_bytes(tmp_path) == 10 * GIB


def test_the_machine_we_are_on_makes_sense() -> None:
    config = default_config()
    assert 1 <= config.workers <= len(os.sched_getaffinity(0))
    assert 0 < config.memory_bytes <= 8 * GIB
    assert 4 * config.memory_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_an_idle_time_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_IDLE_S", text)
    with pytest.raises(BadArgument, match=r"JOADER_IDLE_S is .*; give seconds"):
        default_config()
