"""A gathered batch is what stacking the samples one by one would give."""

import tracemalloc
from collections import OrderedDict
from typing import Any

import hypothesis.extra.numpy as nps
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.errors import BadArgument, OurError
from joader.memory import Arena, Layout, Ring, gather, pack, read
from tests.memory.trees import Frozen, Pair, same

SIZES = [1, 2, 3, 4, 8, 12, 16, 63, 64, 100, 128, 1000, 4096]


def lay_out(samples: list[Any], seed: int = 0) -> tuple[list[Layout], np.ndarray, list[int]]:
    """Write samples into slots of an arena, in random order with gaps."""
    parcels = [pack(sample) for sample in samples]
    room = [-(-parcel.layout.size_bytes // 64) * 64 + 64 for parcel in parcels]
    arena = np.full(sum(room) + 64, 0xEE, np.uint8)
    offsets, end = [0] * len(samples), 64
    for place in np.random.default_rng(seed).permutation(len(samples)).tolist():
        offsets[place] = end
        parcels[place].write(arena[end : end + room[place]])
        end += room[place]
    arena.flags.writeable = False
    return [parcel.layout for parcel in parcels], arena, offsets


def collate(samples: list[Any]) -> Any:
    """Stack samples by the rules of default_collate, with arrays for tensors."""
    first = samples[0]
    if isinstance(first, str | bytes):
        return samples
    if isinstance(first, dict):
        return type(first)((key, collate([sample[key] for sample in samples])) for key in first)
    if isinstance(first, list | tuple):
        columns = [collate(column) for column in zip(*samples, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    return np.stack(samples)


def trees_of_one_form(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a tree whose leaves are strategies: each drawing of it is a sample of the same form."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.dictionaries(st.integers(), inner, max_size=2).map(OrderedDict),
            st.builds(Pair, inner, inner),
        ),
        max_leaves=6,
    )


def filled(tree: Any, draw: Any) -> Any:
    if isinstance(tree, st.SearchStrategy):
        return draw(tree)
    if isinstance(tree, dict):
        return type(tree)((key, filled(value, draw)) for key, value in tree.items())
    parts = [filled(part, draw) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


plain_leaves = st.sampled_from(
    [
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.booleans(),
        st.text(max_size=100),
        st.binary(max_size=100),
    ]
)
array_leaves = st.builds(
    nps.arrays,
    st.sampled_from([*"?bBhHiIlL", "f2", "f4", "f8", "c8", "c16"]),
    nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
)
scalar_leaves = st.builds(
    lambda dtype: nps.arrays(dtype, ()).map(lambda array: array[()]),
    st.sampled_from([*"?bBhHiIl", "f2", "f4", "f8"]),
)
forms = trees_of_one_form(plain_leaves | array_leaves | scalar_leaves)


@settings(max_examples=150, deadline=None)
@given(st.data(), forms, st.integers(1, 5))
def test_a_gather_equals_stacking_the_samples(data: Any, form: Any, count: int) -> None:
    samples = [filled(form, data.draw) for _ in range(count)]
    layouts, arena, offsets = lay_out(samples)
    batch = gather(layouts, arena, offsets, tensors=False)
    assert batch.collated
    assert same(batch.data, collate(samples))
    ring = gather(layouts, arena, offsets, tensors=False, allocate=Ring().lend)
    assert same(ring.data, batch.data)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("before", [0, 1, 64])
def test_leaves_of_every_size_and_place_are_gathered(size: int, before: int) -> None:
    rng = np.random.default_rng(size)
    samples = [
        (rng.integers(0, 256, before, np.uint8), rng.integers(0, 256, size, np.uint8))
        for _ in range(9)
    ]
    layouts, arena, offsets = lay_out(samples)
    picked = [8, 0, 0, 3]
    batch = gather([layouts[0]], arena, np.array(offsets)[picked], tensors=False)
    assert same(batch.data, collate([samples[place] for place in picked]))


def test_arrays_of_types_without_a_tensor_are_stacked_by_numpy() -> None:
    samples = [
        {"when": np.array(["2020-01-01"], "M8[D]") + day, "big": np.arange(3, dtype=">i4") + day}
        | {"who": np.array(["ab", "c"]), "what": np.zeros(2, [("a", "i4"), ("b", "f8")]), "z": 1j}
        for day in range(3)
    ]
    layouts, arena, offsets = lay_out(samples)
    batch = gather(layouts, arena, offsets, tensors=False)
    assert batch.collated
    assert same(batch.data, collate(samples))


@pytest.mark.parametrize(
    "samples",
    [
        [np.zeros(3), np.zeros(4)],
        [np.zeros(3), np.zeros(3, np.float32)],
        [(1, 2.0), (1, None)],
        [None, None],
        [{"a": 1}, {"b": 1}],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [Frozen(1, 2), Frozen(3, 4)],
        [2**64, 2**64],
        [bytearray(b"a"), bytearray(b"b")],
        [{(1, float("inf")): 1}] * 2,
    ],
)
def test_samples_that_do_not_stack_come_as_a_list_in_order(samples: list[Any]) -> None:
    layouts, arena, offsets = lay_out(samples)
    batch = gather(layouts, arena, offsets, tensors=False)
    assert not batch.collated
    assert same(batch.data, samples)


def test_texts_of_any_length_do_not_keep_images_from_being_stacked() -> None:
    samples = [("x" * length, np.full(1000, length)) for length in (1, 100, 3000)]
    layouts, arena, offsets = lay_out(samples)
    assert len(set(layouts)) == 3
    batch = gather(layouts, arena, offsets, tensors=False)
    assert batch.collated
    assert same(batch.data, collate(samples))


def test_edits_of_a_batch_never_reach_the_arena() -> None:
    with Arena(2**20) as owner:
        parcel = pack((np.arange(5000), 7))
        parcel.write(owner.slot(64, parcel.layout.size_bytes))
        before = owner.view.copy()
        batch = gather([parcel.layout], owner.view, [64, 64], tensors=False)
        for array in batch.data:
            array += 1
        assert (owner.view == before).all()
        assert same(read(parcel.layout, owner.view[64:])[0], np.arange(5000))


def test_each_leaf_has_a_buffer_of_its_own() -> None:
    # A user who keeps the labels of all batches must not keep the images.
    layouts, arena, offsets = lay_out([(np.zeros(2**18, np.uint8), label) for label in range(4)])
    ring = Ring()
    images, labels = gather(layouts, arena, offsets, tensors=False, allocate=ring.lend).data
    where = images.ctypes.data
    del images
    images, _ = gather(layouts, arena, offsets, tensors=False, allocate=ring.lend).data
    assert images.ctypes.data == where
    assert labels.tolist() == [0, 1, 2, 3]


def test_a_gather_with_given_buffers_allocates_little() -> None:
    layouts, arena, offsets = lay_out([np.zeros(2**18, np.uint8) for _ in range(8)])
    out = np.empty(2**21, np.uint8)
    gather(layouts, arena, offsets, tensors=False)
    tracemalloc.start()
    try:
        batch = gather(layouts, arena, offsets, tensors=False, allocate=lambda size: out[:size])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.shares_memory(batch.data, out)
    assert peak < 2**19  # the numbers of lines: an eighth of the bytes


def test_offsets_outside_or_off_the_grid_are_refused() -> None:
    layouts, arena, offsets = lay_out([np.zeros(100, np.uint8)] * 2)
    for wrong in ([-64, 64], [offsets[0], arena.size - 64], [offsets[0] + 8, offsets[1]]):
        with pytest.raises(OurError, match="offsets"):
            gather(layouts, arena, wrong, tensors=False)
    with pytest.raises(OurError, match="multiples"):
        gather(layouts, arena[:-8], offsets, tensors=False)
    for wrong in ([], [64], [[64, 64]]):
        with pytest.raises(BadArgument, match="layout"):
            gather(layouts, arena, wrong, tensors=False)
    with pytest.raises(BadArgument, match="layout"):
        gather([], arena, offsets, tensors=False)
