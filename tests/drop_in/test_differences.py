"""What differs from torch's DataLoader on purpose: a test for each entry of docs/torch.md.

Whatever is not in that list gives what torch gives (test_drop_in.py). A test here shows both sides:
what torch does, and what joader does instead.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data as torch_data
from torch.utils.data.distributed import DistributedSampler

import joader
from joader.errors import RowFailed, UnknownTable
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until

TORCH = torch_data.DataLoader


@pytest.fixture(scope="module", autouse=True)
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A daemon for all tests, which loaders in the test process find."""
    node = Node(tmp_path_factory.mktemp("node"))
    node.up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JOADER_RUNTIME", str(node.run))
        patch.setenv("JOADER_CATALOG", str(node.folder / "catalog"))
        yield node
    node.down()


class Rows(torch_data.Dataset[Any]):
    def __init__(self, length: int) -> None:
        self.length, self.offset = length, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> Any:
        return row + self.offset


class Noise(Rows):
    def __getitem__(self, row: int) -> Any:
        return torch.rand(1)


class Seeds(Rows):
    def __getitem__(self, row: int) -> Any:
        return torch.initial_seed()


def seed_with_12345(worker: int) -> None:
    torch.manual_seed(12345)


class Quick(Rows):
    def __getitem__(self, row: int) -> Any:
        return os.getpid(), row


class Slower(Rows):
    def __getitem__(self, row: int) -> Any:
        if row >= 60:
            time.sleep(0.001)
        return os.getpid()


class Processes(Rows):
    def __getitem__(self, row: int) -> Any:
        time.sleep(0.001)
        return os.getpid(), torch_data.get_worker_info() is not None


class Counting(Rows):
    count = 0

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.count = 0

    def __getitem__(self, row: int) -> Any:
        self.count += 1
        return os.getpid()


class Logged(Rows):
    def __init__(self, path: Path) -> None:
        super().__init__(64)
        self.path = path

    def __getitem__(self, row: int) -> Any:
        with self.path.open("a") as log:
            log.write("x")
        return row


class Missing(Rows):
    def __getitem__(self, row: int) -> Any:
        return Path("no such file").read_bytes()


class Undecodable(Rows):
    def __getitem__(self, row: int) -> Any:
        return b"\xff".decode()


class Ends(Rows):
    def __getitem__(self, row: int) -> Any:
        raise StopIteration


class Sleeper(Rows):
    def __getitem__(self, row: int) -> Any:
        if row == 2:
            time.sleep(60)
        return row


class SlowStart(Rows):
    def __getitem__(self, row: int) -> Any:
        if row == 0:
            time.sleep(0.3)
        return row


class Backwards(Rows):
    def __getitem__(self, row: int) -> Any:
        return np.arange(4)[::-1]


class Unlike(Rows):
    def __init__(self, path: Path) -> None:
        super().__init__(1)
        self.path = path

    def __getitem__(self, row: int) -> Any:
        mapped = np.memmap(self.path, np.float64, "r")
        return torch.arange(3).expand(2, 3), torch.tensor([1 + 2j]).conj(), mapped


class Note:
    """A `worker_init_fn` that can be counted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, worker: int) -> None:
        with self.path.open("a") as log:
            log.write("x")


def read(loader: Any) -> list[Any]:
    """Return the batches of a pass as lists, and end the job."""
    found = [b.tolist() if hasattr(b, "tolist") else b for b in loader]
    if hasattr(loader, "close"):
        loader.close()
    return found


# Time


def test_a_batch_may_take_120_s_unless_told_otherwise() -> None:
    for given, seconds in ((None, 120.0), (0, 120.0), (7.5, 7.5)):
        named = {} if given is None else {"timeout": given}
        assert joader.DataLoader(Rows(4), num_workers=1, **named).timeout_s == seconds
    assert joader.DataLoader(Rows(4), timeout=float("inf")).timeout_s > 1e6
    assert TORCH(Rows(4)).timeout == 0  # for ever


def test_timeout_is_taken_without_workers() -> None:
    with pytest.raises(AssertionError):
        iter(TORCH(Rows(4), timeout=5))
    assert read(joader.DataLoader(Rows(4), batch_size=4, timeout=5)) == [[0, 1, 2, 3]]


def test_a_row_that_takes_too_long_is_named_and_the_pass_goes_on() -> None:
    batches = iter(joader.DataLoader(Sleeper(4), num_workers=1, timeout=0.5))
    assert [next(batches).item() for _ in range(2)] == [0, 1]
    with pytest.raises(RowFailed, match=r"row 2 .*\n.*took more than 0.5 s"):
        next(batches)
    assert next(batches).item() == 3


# Orders and random numbers


def test_the_shared_order_does_not_follow_manual_seed() -> None:
    def order(kind: Any, **named: Any) -> list[Any]:
        torch.manual_seed(0)
        return read(kind(Rows(50), batch_size=50, shuffle=True, **named))

    assert order(TORCH) == order(TORCH)
    assert order(joader.DataLoader) != order(joader.DataLoader)
    assert sorted(order(joader.DataLoader)[0]) == list(range(50))
    seeded = {"order": "seeded", "seed": 3}
    assert order(joader.DataLoader, **seeded) == order(joader.DataLoader, **seeded)
    one, other = (torch.Generator().manual_seed(1) for _ in range(2))
    assert order(joader.DataLoader, generator=one) == order(TORCH, generator=other)


def test_random_numbers_of_workers_do_not_follow_manual_seed() -> None:
    def noise(kind: Any, **named: Any) -> list[Any]:
        torch.manual_seed(0)
        return read(kind(Noise(4), batch_size=4, num_workers=1, **named))

    assert noise(TORCH) == noise(TORCH)
    assert noise(joader.DataLoader) != noise(joader.DataLoader)
    seeded = {"order": "seeded", "seed": 3}
    assert noise(joader.DataLoader, **seeded) == noise(joader.DataLoader, **seeded)


def test_random_numbers_of_workers_do_not_follow_a_seed_of_worker_init_fn() -> None:
    def seeds(kind: Any) -> set[int]:
        return {b[0] for b in read(kind(Seeds(4), num_workers=1, worker_init_fn=seed_with_12345))}

    assert seeds(TORCH) == {12345}
    assert 12345 not in seeds(joader.DataLoader)


def test_ranks_read_one_plan_and_drop_the_step_that_is_not_full_for_all(node: Node) -> None:
    script = """
import torch
from torch.utils.data.distributed import DistributedSampler
rows = list(range(23))
rank = int(os.environ["RANK"])
sampler = DistributedSampler(rows, num_replicas=2, rank=rank, shuffle=False)
loader = joader.DataLoader(rows, batch_size=4, sampler=sampler, drop_last=True, job="ranks")
say([len(loader), [batch.tolist() for batch in loader]])
"""
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    jobs = [node.job(script, RANK=str(rank), **place) for rank in range(2)]
    assert jobs[0].result() == [[2, [[0, 1, 2, 3], [8, 9, 10, 11]]]]
    assert jobs[1].result() == [[2, [[4, 5, 6, 7], [12, 13, 14, 15]]]]
    rows = list(range(23))
    sampler: Any = DistributedSampler(rows, num_replicas=2, rank=0, shuffle=False)  # type: ignore[arg-type]
    with_torch = TORCH(rows, batch_size=4, sampler=sampler, drop_last=True)  # type: ignore[arg-type]
    assert read(with_torch) == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]


def test_batches_come_in_order_whatever_in_order_says() -> None:
    def order(kind: Any) -> list[Any]:
        return read(kind(SlowStart(4), num_workers=2, in_order=False))

    assert order(TORCH)[0] != [0]
    assert order(joader.DataLoader) == [[0], [1], [2], [3]]


# Data


def test_an_empty_dataset_can_be_shuffled() -> None:
    with pytest.raises(ValueError, match="num_samples"):
        TORCH(Rows(0), shuffle=True)
    assert read(joader.DataLoader(Rows(0), shuffle=True)) == []


def test_a_text_as_the_dataset_is_the_name_of_a_table() -> None:
    assert read(TORCH("abc", batch_size=3)) == [["a", "b", "c"]]  # type: ignore[arg-type]
    with pytest.raises(UnknownTable, match="'abc'"):
        joader.DataLoader("abc", batch_size=3)
    assert read(joader.DataLoader(list("abc"), batch_size=3)) == [["a", "b", "c"]]


def test_a_sampler_may_count_from_the_end() -> None:
    assert read(TORCH(Rows(5), sampler=[0, -1])) == [[0], [-1]]
    for workers in (0, 1):
        assert read(joader.DataLoader(Rows(5), sampler=[0, -1], num_workers=workers)) == [[0], [4]]


def test_arrays_with_negative_strides_are_collated() -> None:
    with pytest.raises(ValueError, match="stride"):
        read(TORCH(Backwards(2), batch_size=2))
    loader = joader.DataLoader(Backwards(2), batch_size=2, num_workers=1)
    assert read(loader) == [[[3, 2, 1, 0], [3, 2, 1, 0]]]


def test_samples_of_workers_are_copies_for_a_collate_fn(tmp_path: Path) -> None:
    path = tmp_path / "array"
    np.zeros(6).tofile(path)

    def seen(samples: list[Any]) -> list[Any]:
        expanded, conjugate, mapped = samples[0]
        return [expanded.stride(), conjugate.is_conj(), type(mapped) is np.memmap]

    named: dict[str, Any] = {"num_workers": 1, "collate_fn": seen}
    assert read(TORCH(Unlike(path), **named)) == [[(0, 1), True, True]]
    assert read(joader.DataLoader(Unlike(path), **named)) == [[(3, 1), False, False]]


def test_batches_lie_in_ordinary_memory() -> None:
    named: dict[str, Any] = {"batch_size": 4, "num_workers": 1}
    assert [batch.is_shared() for batch in TORCH(Rows(4), **named)] == [True]
    assert [batch.is_shared() for batch in joader.DataLoader(Rows(4), **named)] == [False]


class Large:
    """Labels in an array that is too large to be looked at before each batch."""

    def __init__(self) -> None:
        self.labels = np.zeros((8, 1 << 18), np.uint8)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, row: int) -> int:
        time.sleep(0.001)  # or it would be read in the job
        return int(self.labels[row, 0])


def test_a_change_within_a_large_array_is_seen_in_the_next_pass() -> None:
    for kind, first in ((TORCH, [[0] * 4, [1] * 4]), (joader.DataLoader, [[0] * 4, [0] * 4])):
        rows, seen = Large(), []
        loader = kind(rows, batch_size=4)
        for batch in loader:
            seen.append(batch.tolist())
            rows.labels[:] = 1
        assert seen == first
        assert read(loader) == [[1] * 4, [1] * 4]


# Errors


def test_an_error_from_a_worker_is_a_row_failed_too_and_comes_from_the_original() -> None:
    with pytest.raises(FileNotFoundError) as plain:
        read(TORCH(Missing(2), num_workers=1))
    assert (plain.value.__cause__, plain.value.errno) == (None, None)
    with pytest.raises(FileNotFoundError, match="no such file") as found:
        read(joader.DataLoader(Missing(2), num_workers=1))
    assert isinstance(found.value, RowFailed)
    assert type(found.value.__cause__) is FileNotFoundError
    assert found.value.errno == found.value.__cause__.errno == 2


def test_an_error_from_a_worker_keeps_a_class_that_a_text_does_not_make() -> None:
    with pytest.raises(RuntimeError):
        read(TORCH(Undecodable(2), num_workers=1))
    with pytest.raises(UnicodeDecodeError) as found:
        read(joader.DataLoader(Undecodable(2), num_workers=1))
    assert (found.value.object, found.value.start) == (b"\xff", 0)


def test_an_error_in_the_job_has_a_note_that_names_its_row() -> None:
    for kind in (TORCH, joader.DataLoader):
        with pytest.raises(FileNotFoundError) as found:
            read(kind(Missing(2), num_workers=0))
        assert type(found.value) is FileNotFoundError
        assert hasattr(found.value, "__notes__") == (kind is not TORCH)


def test_a_dataset_that_raises_stop_iteration_does_not_end_the_pass() -> None:
    assert read(TORCH(Ends(2))) == []
    for workers in (1, 0):
        with pytest.raises(RowFailed, match="row 0"):
            read(joader.DataLoader(Ends(2), num_workers=workers))


# Processes


def test_workers_are_born_when_there_is_work_for_them(tmp_path: Path) -> None:
    for kind, born in ((TORCH, 2), (joader.DataLoader, 1)):
        note = tmp_path / kind.__module__
        assert read(kind(Rows(1), num_workers=2, worker_init_fn=Note(note))) == [[0]]
        assert note.stat().st_size == born


def test_an_iterator_does_not_show_processes() -> None:
    assert len(iter(TORCH(Rows(4), num_workers=1))._workers) == 1  # type: ignore[attr-defined]
    with joader.DataLoader(Rows(4), num_workers=1) as loader:
        assert not hasattr(iter(loader), "_workers")


def test_more_workers_than_cores_are_not_warned_about() -> None:
    many = len(os.sched_getaffinity(0)) + 1
    with pytest.warns(UserWarning, match="excessive worker creation"):
        TORCH(Rows(4), num_workers=many)
    joader.DataLoader(Rows(4), num_workers=many)  # warnings are errors here


def test_without_num_workers_rows_are_read_in_worker_processes() -> None:
    def seen(loader: Any) -> set[tuple[bool, bool]]:
        found = [(pids.tolist(), flags.tolist()) for pids, flags in loader]
        return {(p == os.getpid(), f) for pids, flags in found for p, f in zip(pids, flags)}

    in_the_job, in_a_worker = {(True, False)}, {(False, True)}
    assert seen(TORCH(Processes(16), batch_size=4)) == in_the_job
    assert seen(joader.DataLoader(Processes(16), batch_size=4)) == in_a_worker
    assert seen(joader.DataLoader(Processes(16), batch_size=4, num_workers=0)) == in_the_job


def test_without_num_workers_a_dataset_that_keeps_state_is_read_in_the_job() -> None:
    for kind in (TORCH, joader.DataLoader):
        rows = Counting(8)
        assert read(kind(rows, batch_size=8)) == [[os.getpid()] * 8]
        assert rows.count == 8


def test_without_num_workers_rows_that_take_no_time_are_read_in_the_job() -> None:
    """Once their time is known: each row comes once, whoever reads it."""
    for kind in (TORCH, joader.DataLoader):
        loader = kind(Quick(4000), batch_size=4)
        first = [pid for pids, _ in loader for pid in pids.tolist()]
        assert len(first) == 4000
        assert set(first[400:]) == {os.getpid()}
        assert sorted(row for _, rows in loader for row in rows.tolist()) == list(range(4000))
    asked = joader.DataLoader(Quick(400), batch_size=4, num_workers=1)
    assert os.getpid() not in {pid for pids, _ in asked for pid in pids.tolist()}


def test_a_dataset_that_grows_is_read_as_it_was_when_the_pass_began() -> None:
    """Also if its rows turn out to be at hand meanwhile: a replay buffer."""
    for order in ("shared", "seeded", "joint"):
        grows = Quick(400)
        rows = []
        for _, numbers in joader.DataLoader(grows, batch_size=4, shuffle=True, order=order):
            grows.length += 1
            rows += numbers.tolist()
        assert sorted(rows) == list(range(400))


def test_rows_that_turn_slow_are_read_by_workers_from_then_on() -> None:
    loader = joader.DataLoader(Slower(600), batch_size=4)
    first, second = ([pid for pids in loader for pid in pids.tolist()] for _ in range(2))
    assert len(first) == len(second) == 600
    assert os.getpid() in first
    assert os.getpid() not in first[-100:]
    assert os.getpid() not in second


def test_collate_fn_runs_in_the_job() -> None:
    def process(samples: list[Any]) -> int:
        return os.getpid()

    named: dict[str, Any] = {"batch_size": 4, "num_workers": 1, "collate_fn": process}
    assert read(TORCH(Rows(4), **named)) != [os.getpid()]
    assert read(joader.DataLoader(Rows(4), **named)) == [os.getpid()]


def test_prefetch_factor_does_not_say_how_far_ahead_rows_are_read(tmp_path: Path) -> None:
    log = tmp_path / "rows"
    loader = joader.DataLoader(Logged(log), batch_size=1, num_workers=1, prefetch_factor=1)
    batches = iter(loader)
    next(batches)
    wait_until(lambda: log.stat().st_size > 2)  # torch reads one row ahead
    loader.close()


def test_persistent_workers_see_a_dataset_that_has_changed() -> None:
    for kind, second in ((TORCH, [[0, 1]]), (joader.DataLoader, [[100, 101]])):
        rows = Rows(2)
        loader: Any = kind(rows, batch_size=2, num_workers=1, persistent_workers=True)
        assert [batch.tolist() for batch in loader] == [[0, 1]]
        rows.offset = 100
        assert [batch.tolist() for batch in loader] == second
        del loader
