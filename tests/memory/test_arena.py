"""The arena: fixed size, read-only for clients, touched ahead, and gone with its last user."""

import fcntl
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from joader.errors import BadArgument, OurError
from joader.memory import Arena
from joader.memory.arena import _allocate

MIB = 2**20


def allocated_bytes(descriptor: int) -> int:
    return os.fstat(descriptor).st_blocks * 512


@pytest.fixture
def arena() -> Iterator[Arena]:
    with Arena(4 * MIB) as made:
        yield made


@pytest.fixture
def client(arena: Arena) -> Iterator[Arena]:
    descriptor = arena.read_only_descriptor()
    with Arena.attach(descriptor, arena.size_bytes) as attached:
        os.close(descriptor)
        yield attached


def test_what_the_owner_writes_is_what_a_client_reads(arena: Arena, client: Arena) -> None:
    arena.slot(64, 3)[:] = (1, 2, 3)
    assert client.slot(64, 3).tolist() == [1, 2, 3]


def test_what_a_worker_writes_is_what_a_client_reads(arena: Arena, client: Arena) -> None:
    descriptor = arena.writable_descriptor()
    with Arena.attach(descriptor, arena.size_bytes, writable=True) as worker:
        os.close(descriptor)
        worker.view[-1] = 7
    assert client.view[-1] == 7


def test_the_size_is_the_budget_rounded_down_to_pages() -> None:
    with Arena(3 * mmap.PAGESIZE - 1) as arena:
        assert arena.size_bytes == arena.view.size == 2 * mmap.PAGESIZE
    for size_bytes in (0, -1, mmap.PAGESIZE - 1):
        with pytest.raises(BadArgument, match="at least one page"):
            Arena(size_bytes)


def test_a_client_that_writes_gets_an_error(arena: Arena, client: Arena) -> None:
    with pytest.raises(ValueError, match="read-only"):
        client.view[0] = 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        client.view.flags.writeable = True
    assert arena.view[0] == 0


def test_a_client_cannot_map_its_descriptor_for_writing(arena: Arena) -> None:
    descriptor = arena.read_only_descriptor()
    try:
        with pytest.raises(BadArgument, match="read-only"):
            Arena.attach(descriptor, arena.size_bytes, writable=True)
        with pytest.raises(PermissionError):
            mmap.mmap(descriptor, arena.size_bytes)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(descriptor, b"x")
        assert os.fstat(descriptor).st_mode & 0o777 == 0o400
    finally:
        os.close(descriptor)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open anything")
def test_a_client_cannot_open_its_descriptor_again_for_writing(arena: Arena) -> None:
    descriptor = arena.read_only_descriptor()
    try:
        with pytest.raises(PermissionError):
            os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR)
    finally:
        os.close(descriptor)


def test_nobody_can_change_the_size(arena: Arena) -> None:
    descriptor = arena.writable_descriptor()
    try:
        for size_bytes in (0, 8 * MIB):
            with pytest.raises(PermissionError):
                os.ftruncate(descriptor, size_bytes)
    finally:
        os.close(descriptor)


def test_descriptors_are_not_inherited_and_do_not_leak() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    arena = Arena(MIB)
    descriptor = arena.read_only_descriptor()
    assert not os.get_inheritable(descriptor)
    attached = Arena.attach(descriptor, MIB)
    os.close(descriptor)
    attached.close()
    arena.close()
    arena.close()
    assert count() == before
    Arena(MIB)  # dropped without close
    assert count() == before


def test_attaching_to_something_else_is_refused(arena: Arena, tmp_path: Path) -> None:
    descriptor = arena.read_only_descriptor()
    with (tmp_path / "file").open("wb+") as file:
        for wrong in (file.fileno(), -1, 10**6):
            with pytest.raises(OurError, match="is not an arena"):
                Arena.attach(wrong, MIB)
    with pytest.raises(OurError, match="it has 4194304"):
        Arena.attach(descriptor, 8 * MIB)
    os.close(descriptor)
    unsealed = os.memfd_create("other")
    os.ftruncate(unsealed, MIB)
    with pytest.raises(OurError, match="not sealed"):
        Arena.attach(unsealed, MIB)
    os.close(unsealed)


def test_views_outlive_close_and_nothing_else_is_given_out(arena: Arena) -> None:
    view = arena.slot(0, 64)
    view[:] = 9
    arena.close()
    assert (view == 9).all()
    view[0] = 1
    for use in (lambda: arena.view, arena.read_only_descriptor, arena.writable_descriptor):
        with pytest.raises(OurError):
            use()
    assert arena.touch(MIB) == 0


def test_a_closed_arena_is_unmapped_with_its_last_view() -> None:
    arena = Arena(64 * MIB)
    inode = os.stat(f"/proc/self/fd/{arena._descriptor}").st_ino
    part = arena.view[:10][::2]
    arena.close()
    assert inode in inodes_in_use(os.getpid())
    del part
    assert inode not in inodes_in_use(os.getpid())


def test_a_slot_outside_is_refused(arena: Arena) -> None:
    for offset, size_bytes in ((-64, 64), (4 * MIB, 1), (0, 4 * MIB + 1), (64, -128)):
        with pytest.raises(OurError, match="outside"):
            arena.slot(offset, size_bytes)


def test_touching_allocates_pages_in_order_and_never_beyond_the_size(arena: Arena) -> None:
    descriptor = arena.read_only_descriptor()
    assert allocated_bytes(descriptor) == 0
    assert arena.touch(MIB) == MIB
    assert allocated_bytes(descriptor) == MIB
    assert arena.touch(MIB // 2) == MIB
    assert arena.touch(MIB + 1, step_bytes=100) == MIB + 1
    assert allocated_bytes(descriptor) == MIB + mmap.PAGESIZE
    assert arena.touch(2**40, step_bytes=3 * mmap.PAGESIZE + 1) == 4 * MIB
    assert allocated_bytes(descriptor) == 4 * MIB
    os.close(descriptor)
    with pytest.raises(BadArgument, match="at least 1"):
        arena.touch(MIB, step_bytes=0)


def test_pages_are_read_where_the_kernel_does_not_allocate_them(arena: Arena) -> None:
    descriptor = arena.read_only_descriptor()  # with this one it refuses
    assert _allocate(descriptor, arena.view, 0, MIB)
    assert allocated_bytes(descriptor) == MIB
    os.close(descriptor)


def test_touching_beside_a_writer_destroys_nothing() -> None:
    with Arena(64 * MIB) as arena:
        view = arena.view
        thread = threading.Thread(target=arena.touch, args=(arena.size_bytes, 64 * 4096))
        thread.start()
        for number in range(1, 6):  # again and again over the pages being touched
            view[:: mmap.PAGESIZE] = number
            assert (view[:: mmap.PAGESIZE] == number).all()
        thread.join()
        assert (view[:: mmap.PAGESIZE] == 5).all()


def test_closing_ends_a_touch_under_way() -> None:
    arena = Arena(2**32)  # would take seconds
    thread = threading.Thread(target=arena.touch, args=(2**32, MIB))
    thread.start()
    wait_until(lambda: arena.touched_bytes > 0)
    arena.close()
    thread.join(30)
    assert not thread.is_alive()
    assert arena.touched_bytes < 2**32


OWNER = """
import os, subprocess, sys
from joader.memory import Arena
arena = Arena(16 * 2**20)
arena.touch(2**40)
arena.view[:5] = list(b"hello")
given = arena.read_only_descriptor()
reader = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(given)], pass_fds=[given])
print(os.getpid(), reader.pid, os.fstat(given).st_ino, given, flush=True)
sys.stdin.read()
"""
READER = """
import sys
from joader.memory import Arena
arena = Arena.attach(int(sys.argv[1]), 16 * 2**20)
assert bytes(arena.view[:5]) == b"hello"
print("attached", flush=True)
sys.stdin.read()
"""


def test_kill_9_of_all_users_leaves_nothing_and_of_the_owner_leaves_readers_alone() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, READER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    lines = sorted([owner.stdout.readline(), owner.stdout.readline()])
    owner_pid, reader_pid, inode, given = map(int, lines[0].split())
    assert lines[1] == "attached\n"
    # This process is the third holder: it can see the pages, and shares them by the kernel's count.
    descriptor = os.open(f"/proc/{owner_pid}/fd/{given}", os.O_RDONLY)
    assert os.fstat(descriptor).st_ino == inode
    assert inode in inodes_in_use(owner_pid) & inodes_in_use(reader_pid)

    owner.kill()
    owner.wait()
    assert inode in inodes_in_use(reader_pid)
    with Arena.attach(descriptor, 16 * MIB) as arena:
        assert bytes(arena.view[:5]) == b"hello"
    assert allocated_bytes(descriptor) == 16 * MIB

    os.kill(reader_pid, signal.SIGKILL)
    wait_until(lambda: inode not in inodes_in_use(reader_pid))
    assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    os.close(descriptor)
    owner.stdin.close()
    owner.stdout.close()
    # No process maps or holds the inode: the kernel has freed it. There is no name to clean up.
    users = [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if inode in inodes_in_use(pid)
    ]
    assert users == []


def inodes_in_use(pid: int) -> set[int]:
    """Return the memfd inodes that a process maps or holds open; none if it is gone."""
    found = set()
    try:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            if "memfd:joader-arena" in line:
                found.add(int(line.split()[4]))
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            if "memfd:joader-arena" in os.readlink(path):
                found.add(os.stat(path).st_ino)
    except OSError:
        return found
    return found


def wait_until(holds: Callable[[], bool], timeout_s: float = 30) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
