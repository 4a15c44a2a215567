"""Sizes of slots: little is wasted, and few sizes serve all samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joader.cache import class_bytes, round_up
from joader.errors import BadArgument

sizes = st.integers(0, 2**40)


@given(sizes)
def test_an_exact_slot_is_the_next_multiple_of_64(size):
    slot = round_up(size)
    assert slot % 64 == 0
    assert size <= slot < max(size, 1) + 64


@given(st.integers(1, 2**34))
def test_a_slot_of_an_exact_size_wastes_nothing(units):
    assert round_up(64 * units) == 64 * units


@given(st.integers(512, 2**40))
def test_a_class_wastes_a_ninth_of_its_slot_at_most(size):
    slot = class_bytes(size)
    assert slot % 64 == 0
    assert 0 <= 9 * (slot - size) <= slot


@pytest.mark.parametrize("power", range(9, 41))
def test_a_class_wastes_a_ninth_at_most_on_either_side_of_each_of_its_steps(power):
    for step in range(8, 17):
        edge = (step << power) // 8
        for size in (edge - 1, edge, edge + 1, edge + 64):
            if size >= 512:
                assert 0 <= 9 * (class_bytes(size) - size) <= class_bytes(size)


@given(sizes, sizes)
def test_a_larger_sample_never_gets_a_smaller_class(one, other):
    small, large = sorted((one, other))
    assert class_bytes(small) <= class_bytes(large)


@given(sizes)
def test_a_slot_of_a_class_is_its_own_class(size):
    assert class_bytes(class_bytes(size)) == class_bytes(size) >= round_up(size)


def test_there_are_eight_classes_to_a_factor_of_two():
    assert len({class_bytes(size) for size in range(2**20 + 1, 2**21 + 1, 64)}) == 8


def test_an_empty_sample_takes_one_unit():
    assert (round_up(0), class_bytes(0)) == (64, 64)


@pytest.mark.parametrize("slot", [round_up, class_bytes])
def test_a_size_below_zero_is_refused(slot):
    with pytest.raises(BadArgument, match="-1 bytes"):
        slot(-1)
