"""Layouts are equal when samples have equal shape, small, and say where each leaf is."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.errors import OurError
from joader.memory import Layout, pack
from joader.memory.layout import leaves, text_room
from tests.memory import trees


def layout_of(sample: Any) -> Layout:
    return pack(sample).layout


def test_all_rows_of_images_with_labels_have_one_layout() -> None:
    rng = np.random.default_rng(0)
    made = {
        layout_of((rng.integers(0, 256, (256, 256, 3), np.uint8), int(label)))
        for label in (0, 1, -1, 2**62)
    }
    assert len(made) == 1
    (layout,) = made
    assert layout.size_bytes == 256 * 256 * 3 + 8
    assert layout.offsets == (0, 256 * 256 * 3)
    assert len(layout.to_bytes()) < 70


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2.0, "c": True}, {"a": -5, "b": float("nan"), "c": False}),
        (("cat.jpg", b"x"), ("a longer name.jpg", b"")),
        ([1, 2, 3], [4, 5, 6]),
        (np.zeros((2, 3)), np.ones((3, 4))[1:, 1:]),
    ],
)
def test_samples_that_differ_in_values_only_have_equal_layouts(one: Any, other: Any) -> None:
    assert layout_of(one) == layout_of(other)


def test_samples_that_lie_otherwise_in_memory_are_of_one_form() -> None:
    one, other = layout_of(np.zeros((2, 3))), layout_of(np.asfortranarray(np.ones((2, 3))))
    assert one != other
    assert (one.form, one.size_bytes) == (other.form, other.size_bytes)


@pytest.mark.parametrize("order", ["[0,0]", "[1,2]", "[0]", '["a",0]', "5"])
def test_an_order_that_is_not_one_of_the_axes_is_no_layout(order: str) -> None:
    with pytest.raises(OurError):
        Layout.from_bytes(b'["array","<f8",[2,3],%s]' % order.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, 2**64),
        ((1, "a"), [1, "a"]),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.zeros(3, "<f4"), np.zeros(3, ">f4")),
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(()), np.float64(0)),
        (b"a", bytearray(b"a")),
        ("a" * 10, "a" * 500),
        (trees.Pair(1, 2), (1, 2)),
    ],
)
def test_samples_that_differ_in_type_or_shape_have_different_layouts(one: Any, other: Any) -> None:
    assert layout_of(one) != layout_of(other)


def test_samples_that_differ_in_the_length_of_texts_have_one_form() -> None:
    short, long = layout_of((1.5, "a" * 10)), layout_of((2.5, "a" * 5000))
    assert short.form == long.form
    assert layout_of((1.5, b"a")).form != short.form


@settings(max_examples=200, deadline=None)
@given(trees.trees)
def test_leaves_are_aligned_and_do_not_overlap(sample: Any) -> None:
    layout = layout_of(sample)
    end = 0
    for leaf, offset in zip(leaves(layout.root), layout.offsets, strict=True):
        assert offset >= end
        assert offset % (64 if leaf.size_bytes >= 64 else 8) == 0
        end = offset + leaf.size_bytes
    assert layout.size_bytes == end


@given(st.integers(0, 5000))
def test_a_text_takes_at_most_twice_its_bytes_beyond_a_line(length_bytes: int) -> None:
    room = text_room(length_bytes)
    assert length_bytes + 8 <= room <= max(64, 2 * (length_bytes + 8))


def test_many_small_numbers_take_little_room() -> None:
    assert layout_of({str(number): number for number in range(40)}).size_bytes == 320
    tokens = layout_of({"ids": list(range(512)), "mask": [1] * 512})
    assert tokens.size_bytes == 2 * 512 * 8
    assert len(tokens.to_bytes()) < 120


def test_the_same_bytes_give_the_same_object() -> None:
    data = layout_of((np.zeros(3), 1)).to_bytes()
    assert Layout.from_bytes(data) is Layout.from_bytes(bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04.",
        b"[]",
        b"3",
        json.dumps(["no such kind"]).encode(),
        json.dumps(["array", "|O", [3]]).encode() + b"x",
        json.dumps(["array", "", [3]]).encode(),
        json.dumps(["array", "<f4", [-3]]).encode(),
        json.dumps(["array", "<f4", ["3"]]).encode(),
        json.dumps(["array", "__import__('os')", [3]]).encode(),
        json.dumps(["tensor", "nothing", [3]]).encode(),
        json.dumps(["tuple", [], [["no such kind"]]]).encode(),
        b"[" * 100_000,
    ],
)
def test_bytes_that_are_no_layout_are_refused(data: bytes) -> None:
    with pytest.raises(OurError, match="is not a layout"):
        Layout.from_bytes(data)


def test_arrays_of_objects_cannot_be_smuggled_in_by_a_layout() -> None:
    for name in ("|O", "[('a', '|O')]"):
        with pytest.raises(OurError, match="is not a layout"):
            Layout.from_bytes(json.dumps(["array", name, [3]]).encode())
