"""Writing makes one copy: from the preparing code's array into the slot."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from joader.memory import pack, read

BIG = 16 * 2**20


@pytest.mark.parametrize(
    "array",
    [
        np.ones(BIG, np.uint8),
        np.asfortranarray(np.ones((1024, BIG // 8 // 1024))),
        np.ones((BIG // 4, 2), np.float32)[:, ::2],
        np.ones((2, BIG // 8), ">f4")[::-1],
    ],
    ids=["contiguous", "fortran", "strided", "reversed, big-endian"],
)
def test_packing_and_writing_allocate_nothing_the_size_of_the_array(array: Any) -> None:
    slot = np.empty(array.nbytes, np.uint8)
    sample = {"image": array, "label": 3}
    slot = np.empty(array.nbytes + 64, np.uint8)
    pack(sample).write(slot)  # fills the caches of dtypes
    tracemalloc.start()
    try:
        parcel = pack(sample)
        parcel.write(slot)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000
    assert (slot[: array.nbytes] == np.frombuffer(array.tobytes(), np.uint8)).all()


def test_packing_looks_at_the_array_and_does_not_copy_it() -> None:
    array = np.zeros(1000)
    parcel = pack(array)
    array[:] = 7
    slot = np.empty(8000, np.uint8)
    parcel.write(slot)
    assert (slot.view(np.float64) == 7).all()


def test_samples_that_only_seem_equal_have_layouts_of_their_own() -> None:
    for sample in (
        np.zeros(3, np.int64),
        np.zeros(3, np.float64),
        (np.zeros(3, np.int64),),
        (np.zeros(3, np.int64), np.int64(1)),
        (np.zeros(3, np.int64), np.float64(1)),
        (np.zeros(3, np.int64), np.zeros((), np.int64)),
        (np.zeros(3, ">i8"), np.int64(1)),
    ):
        for _ in range(2):  # the second time by what is kept of the first
            parcel = pack(sample)
            slot = np.zeros(4096, np.uint8)
            parcel.write(slot)
            again = read(parcel.layout, slot, allow_pickle=True)
            assert repr(again) == repr(sample)
