"""A sample that went into a slot comes out the same, and shares nothing with the slot."""

import dataclasses
import sys
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument, MissingExtra, OurError
from joader.memory import Layout, pack, read
from joader.memory.layout import Branch, Leaf
from tests.memory import trees
from tests.memory.trees import Box, Colour, Frozen, Item, Pair, WithState, same


def round_trip(sample: Any) -> Any:
    parcel = pack(sample)
    slot = np.full(parcel.layout.size_bytes + 64, 0xAA, np.uint8)
    parcel.write(slot)
    assert (slot[parcel.layout.size_bytes :] == 0xAA).all(), "wrote beyond its slot"
    slot.flags.writeable = False
    layout = Layout.from_bytes(parcel.layout.to_bytes())
    assert layout == parcel.layout
    assert hash(layout) == hash(parcel.layout)
    return read(layout, slot, allow_pickle=True)


@settings(max_examples=300, deadline=None)
@given(trees.trees)
def test_any_tree_comes_back_the_same(sample: Any) -> None:
    assert same(round_trip(sample), sample)


@pytest.mark.parametrize(
    "sample",
    [
        *(2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**400, -1, 0, True, None, 1.5, -0.0, 2 - 3j),
        *("", "é\0", "\ud800", "x" * 5000, b"", b"\0", b"x" * 5000, bytearray(b"ab")),
        *([], (), {}, [[]], ((),), [1, 2, 3], (True, False), [1.0, float("nan")], [1, True]),
        *([2**63, 1], [1, 2.0], list(range(5000)), ["a"] * 1000),
        {1: "int", True + 1: "two", None: "none", 1.5: "float", b"k": "bytes", ("a", 1): "tuple"},
        {Colour.RED: np.arange(3)},
        OrderedDict(b=1, a=2),
        defaultdict(list, a=[1]),
        Colour.RED,
        Box([np.arange(3)]),
        PurePosixPath("/a/b"),
        {"set", "of"},
        range(3),
        Pair(np.zeros((2, 2), np.uint8), 3),
        Item(np.ones(3), "label"),
        Frozen(np.ones(3), None),
        WithState(3, None),
        np.array(["ab\0", ""], "U3"),
        np.array([b"a\0"], "S2"),
        np.array(["2020-01-01", "NaT"], "M8[ns]"),
        np.array([(1, 2.5)], [("a", ">i4"), ("b", "<f8", (1,))]),
        np.zeros(2, np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [1, 8]})),
        np.array([1, None], object),
        np.array([], "U"),
        np.zeros((0, 3), np.float32),
        np.float32(1.5),
        np.str_("ab"),
        np.bytes_(b"ab"),
        np.datetime64("2020-01-01"),
        np.longdouble("0.1"),
        np.array([(1, 2.5)], [("a", ">i4"), ("b", "<f8")])[0],
        np.ma.masked_array([1, 2], [True, False]).filled(0),
    ],
    ids=lambda sample: type(sample).__name__,
)
def test_an_awkward_value_comes_back_the_same(sample: Any) -> None:
    assert same(round_trip(sample), sample)
    assert same(round_trip((sample, {"again": [sample]})), (sample, {"again": [sample]}))


def test_keys_that_are_equal_keep_their_types() -> None:
    for key in (1, True, 1.0):
        assert type(next(iter(round_trip({key: "x"})))) is type(key)
    assert pack({1: "x"}).layout != pack({True: "x"}).layout


def test_what_subclasses_an_array_or_a_dict_keeps_its_class() -> None:
    masked = round_trip(np.ma.masked_array([1, 2], [True, False]))
    assert isinstance(masked, np.ma.MaskedArray)
    assert masked.mask.tolist() == [True, False]
    assert type(round_trip(np.zeros(2, [("a", "i4")]).view(np.recarray))) is np.recarray
    assert round_trip(defaultdict(list, a=1))["missing"] == []


def test_a_memory_map_comes_back_as_a_plain_array(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "file", np.int16, "w+", shape=(3, 2))
    mapped[:] = 7
    assert same(round_trip(mapped), np.full((3, 2), 7, np.int16))


def test_edits_of_what_was_read_never_reach_the_slot() -> None:
    parcel = pack({"a": np.zeros(8), "list": [1, 2], "raw": bytearray(b"abc")})
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    before = slot.copy()
    first = read(parcel.layout, slot)
    first["a"] += 1
    first["list"][0] = 9
    first["raw"][0] = 0
    assert (slot == before).all()
    assert same(read(parcel.layout, slot)["a"], np.zeros(8))


def test_a_value_nested_in_itself_or_very_deep_is_handed_over_as_an_object() -> None:
    knot: list[Any] = [1, "two"]
    knot.append(knot)
    back = round_trip(knot)
    assert back[2] is not knot
    assert back[:2] == [1, "two"]
    deep: Any = "ground"
    for _ in range(200):
        deep = [deep]
    assert round_trip(deep) == deep


def test_a_dataclass_is_not_initialised_again() -> None:
    item = Item(1, 2)
    item.derived = "edited"
    assert round_trip(item).derived == "edited"
    item.extra = "no field of it"  # type: ignore[attr-defined]
    assert vars(round_trip(item)) == vars(item)


def test_objects_are_loaded_only_by_a_reader_that_says_so() -> None:
    parcel = pack(Box(3))
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    with pytest.raises(OurError, match="allow_pickle"):
        read(parcel.layout, slot)
    assert read(parcel.layout, slot, allow_pickle=True) == Box(3)


def test_what_cannot_be_pickled_is_refused_with_its_type() -> None:
    with pytest.raises(BadArgument, match=r"builtins\.generator"):
        pack((1, (number for number in range(3))))


def test_a_class_made_inside_a_function_is_refused_when_packed() -> None:
    local = namedtuple("local", "a b")
    local.__qualname__ = "test.<locals>.local"
    with pytest.raises(BadArgument, match="cannot be found by this name"):
        pack(local(1, "b"))


@pytest.mark.parametrize("name", ["no_such_module:Thing", "tests.memory.trees:NoSuch", "math:pi"])
def test_a_class_that_is_not_there_is_named_in_the_error(name: str) -> None:
    layout = Layout(Branch("namedtuple", (name,), (Leaf("none"),)))
    with pytest.raises(BadArgument, match=name.split(":")[1]):
        read(layout, np.zeros(64, np.uint8))


def test_a_class_with_other_fields_here_is_refused() -> None:
    for kind, names in [
        ("namedtuple", ("tests.memory.trees:Pair",)),
        ("dataclass", ("tests.memory.trees:Frozen", "image")),
        ("dataclass", ("tests.memory.trees:Box", "content")),
        ("namedtuple", ("tests.memory.trees:Box",)),
    ]:
        layout = Layout(Branch(kind, names, (Leaf("none"),)))
        with pytest.raises(BadArgument, match="differs between the two processes"):
            read(layout, np.zeros(64, np.uint8))


def test_a_tensor_without_torch_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"\.\[torch\]"):
        read(Layout(Leaf("tensor", "float32", (2,))), np.zeros(64, np.uint8))


def test_a_sample_of_no_bytes_needs_no_slot() -> None:
    for sample in (np.zeros((0, 3)), None, [], (None, np.zeros((2, 0), "M8[s]"))):
        parcel = pack(sample)
        assert parcel.layout.size_bytes == 0
        for slot in (np.zeros(0, np.uint8), np.zeros(64, np.uint8)[64:]):
            parcel.write(slot)
            assert same(read(parcel.layout, slot), sample)
    behind = pack((np.zeros(8), np.zeros((0, 2))))
    slot = np.zeros(64, np.uint8)
    behind.write(slot)
    assert read(behind.layout, slot)[1].shape == (0, 2)


def test_a_slot_too_small_is_refused_on_both_sides() -> None:
    parcel = pack(np.zeros(100))
    with pytest.raises(OurError, match="800"):
        parcel.write(np.zeros(799, np.uint8))
    with pytest.raises(OurError, match="800"):
        read(parcel.layout, np.zeros(799, np.uint8))


def test_frozen_dataclasses_of_the_tests_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        round_trip(Frozen(1, 2)).label = 3


def test_a_sample_that_is_lent_is_read_in_place_and_cannot_be_written() -> None:
    parcel = pack((np.arange(6, dtype=np.int32).reshape(2, 3), "a", 7))
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    array, text, number = read(parcel.layout, slot, lent=True)
    assert np.shares_memory(array, slot)
    assert (text, number) == ("a", 7)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    slot[:] = 0
    assert slot.flags.writeable
    assert not array.any()


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(24).reshape(2, 1, 3, 4).transpose(3, 1, 0, 2),
        np.asfortranarray(np.zeros((3, 0, 2))),
    ],
    ids=["Fortran", "channels first", "an axis of one element", "empty"],
)
def test_a_dense_array_lies_as_it_did(array: Any) -> None:
    for sample in (array, (array, np.int64(1))):
        back = round_trip(sample)
        found = back[0] if isinstance(back, tuple) else back
        assert np.array_equal(found, array)
        lengths = [number for number in range(array.ndim) if array.shape[number] > 1]
        assert [found.strides[n] for n in lengths] == [array.strides[n] for n in lengths]
        assert found.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4)[:, ::2],
        np.arange(4)[::-1],
        np.broadcast_to(np.arange(3), (4, 3)),
    ],
    ids=["sliced", "backwards", "expanded"],
)
def test_other_arrays_come_back_in_c_order(array: Any) -> None:
    back = round_trip(array)
    assert np.array_equal(back, array)
    assert back.flags.c_contiguous
    assert pack(array).layout == pack(np.ascontiguousarray(array)).layout
