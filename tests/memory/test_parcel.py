"""Writing makes one copy: from the preparing code's array into the slot."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

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


class Held:
    """An object without a layout of its own."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __repr__(self) -> str:
        return f"Held({self.array!r})"


def every_kind(folder: Path) -> tuple[Any, list[Any]]:
    """Return a sample with memory of every kind that can be written to, and that memory."""
    mapped = np.memmap(folder / "mapped", np.uint8, "w+", shape=(4,))
    grid, sealed = np.zeros((4, 6), np.float32), np.zeros(3, np.int64)
    tensor, small = torch.zeros(3, 4), torch.zeros((), dtype=torch.bfloat16)
    text, numbers, held = bytearray(5), [0, 0, 0], np.zeros(2)
    picture = Image.fromarray(np.zeros((4, 4, 3), np.uint8))
    sealed_view = sealed.view()
    sealed_view.flags.writeable = False
    sample = {
        "arrays": (mapped, grid.T, grid[::2, ::-1], np.broadcast_to(grid[0], (5, 6)), sealed_view),
        "tensors": [tensor.t(), tensor[1:, ::2], tensor[0].expand(5, 4), small],
        "others": [text, numbers, Held(held), picture, "text", b"bytes", 7, None],
    }
    return sample, [mapped, grid, sealed, tensor, small, text, numbers, held, picture]


def change(memory: Any) -> None:
    if isinstance(memory, Image.Image):
        memory.paste((9, 9, 9), (0, 0, 4, 4))
    elif isinstance(memory, bytearray | list):
        memory[:] = [9] * len(memory)
    else:
        memory[...] = 9


def test_what_is_kept_stays_as_it_was_whatever_becomes_of_the_memory(tmp_path: Path) -> None:
    sample, memories = every_kind(tmp_path)
    parcel = pack(sample)
    slots = [np.zeros(max(1, parcel.layout.size_bytes), np.uint8) for _ in range(2)]
    parcel.write(slots[0])
    kept = parcel.kept()
    for memory in memories:
        change(memory)
    kept.write(slots[1])
    assert (slots[0] == slots[1]).all()
    assert kept.layout == parcel.layout


def test_bytes_are_kept_without_a_copy() -> None:
    parcel = pack((b"x" * BIG, "y" * 100))
    tracemalloc.start()
    try:
        parcel.kept()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000


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
