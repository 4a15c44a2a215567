"""Leaves of an arena, taken by address: what each address holds, in the order asked for."""

import time
from typing import Any

import numpy as np
import pytest

from joader.memory.layout import Leaf
from joader.memory.rows import LOOP_BYTES, MOST_FOR_TORCH, ArrayRows, TensorRows

ARENA = np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.uint8)
ARENA.flags.writeable = False
ADDRESSES = np.array([6400, 128, 64 * 999, 128])
# Single numbers, small leaves, whole lines, and both sides of what is copied in a loop.
SIZES = [1, 2, 4, 8, 10, 12, 24, 64, 65, 100, 784, LOOP_BYTES - 64, LOOP_BYTES, 5000]


def expected(size: int, addresses: Any = ADDRESSES) -> list[list[int]]:
    return [ARENA[at : at + size].tolist() for at in addresses]


@pytest.mark.parametrize("size", SIZES)
def test_arrays_hold_the_bytes_at_each_address(size: int) -> None:
    taken = ArrayRows(ARENA, None).take(Leaf("array", "|u1", (size,)), ADDRESSES)
    assert taken.tolist() == expected(size)


@pytest.mark.parametrize("size", SIZES)
def test_tensors_hold_the_bytes_at_each_address(size: int) -> None:
    pytest.importorskip("torch")
    taken = TensorRows(ARENA, None).take(Leaf("tensor", "uint8", (size,)), ADDRESSES)
    assert taken.tolist() == expected(size)


@pytest.mark.parametrize("word", [1, 2, 4, 8])
def test_a_batch_too_large_for_torchs_threads_is_the_same(word: int) -> None:
    pytest.importorskip("torch")
    size = MOST_FOR_TORCH * word // len(ADDRESSES) + word
    taken = TensorRows(ARENA, None).take(Leaf("tensor", "uint8", (size,)), ADDRESSES)
    assert taken.tolist() == expected(size)


@pytest.mark.parametrize("size", [784, 3072, 4095, 4096])
def test_no_thread_of_torchs_waits_for_a_busy_core(size: int) -> None:
    """64 rows of this size: it copies with all its threads if there are too many elements."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    rows, addresses = TensorRows(ARENA, None), 64 * np.arange(64)
    torch.set_num_threads(2)
    time.sleep(0.3)  # threads of earlier calls may still look for work
    try:
        all_s, mine_s = time.process_time(), time.thread_time()
        for _ in range(300):
            rows.take(Leaf("tensor", "uint8", (size,)), addresses)
        mine_s, all_s = time.thread_time() - mine_s, time.process_time() - all_s
    finally:
        torch.set_num_threads(threads)
    assert all_s < 1.2 * mine_s + 0.005


def test_types_and_shapes_are_those_of_the_leaf() -> None:
    rows = ArrayRows(ARENA, None)
    taken = rows.take(Leaf("array", "<f4", (2, 3)), ADDRESSES)
    assert (taken.dtype, taken.shape) == (np.dtype("<f4"), (4, 2, 3))
    assert rows.take(Leaf("int"), ADDRESSES).dtype == np.int64
    assert rows.take(Leaf("array", "<f4", (0, 3)), ADDRESSES).shape == (4, 0, 3)


def test_memory_comes_from_who_lends_it() -> None:
    lent = []

    def lend(size_bytes: int) -> Any:
        lent.append(np.zeros(size_bytes, np.uint8))
        return lent[-1]

    taken = ArrayRows(ARENA, lend).take(Leaf("array", "|u1", (64,)), ADDRESSES)
    assert [one.size for one in lent] == [256]
    assert np.shares_memory(taken, lent[0])


def test_columns_of_stacked_numbers_are_contiguous() -> None:
    stacked = np.arange(6).reshape(2, 3)
    columns = ArrayRows(ARENA, None).columns(stacked)
    assert [column.tolist() for column in columns] == [[0, 3], [1, 4], [2, 5]]
    assert all(column.flags.c_contiguous for column in columns)
