"""The quick checksum notices every change that a dataset's arrays go through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.recipe.fingerprint.memory import checksum

ROW = 32 * 1024  # bytes that are added up together
SIZES = [0, 1, 7, ROW - 1, ROW, ROW + 3, 5 * ROW, 17 * ROW + 13]


def some_bytes(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_equal_bytes_have_equal_checksums_wherever_they_lie(size):
    raw = some_bytes(size)
    shifted = np.empty(size + 1, np.uint8)[1:]
    shifted[:] = raw
    assert checksum(raw) == checksum(shifted)
    assert checksum(raw) != checksum(np.append(raw, np.uint8(0)))


@settings(deadline=None, max_examples=200)
@given(data=st.data(), size=st.sampled_from(SIZES[1:]), bit=st.integers(0, 7))
def test_one_changed_bit_is_noticed_anywhere(data, size, bit):
    place = data.draw(st.integers(0, size - 1) | st.just(size - 1))
    raw = some_bytes(size)
    before = checksum(raw)
    raw[place] ^= 1 << bit
    assert checksum(raw) != before


VALUES = {
    "signs": np.array([1.0, -1.0]),
    "halves and wholes": np.array([0.5, 1.0]),
    "zero and minus zero": np.array([0.0, -0.0]),
    "small integers": np.array([0, 1]),
    "single precision": np.array([0, 1, 0, -1], np.float32).view(np.float64),
    "flags": np.array([0, 2**63], np.uint64),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_swap_of_two_values_is_noticed_though_they_differ_in_few_bits(values):
    rng = np.random.default_rng(0)
    words = values[rng.integers(0, 2, 3 * 4096)]
    before = checksum(words.view(np.uint8))
    for _ in range(300):
        one, other = rng.choice(4096, 2, replace=False)  # in one row
        swapped = words.copy()
        swapped[[one, other]] = words[[other, one]]
        same = words[one].tobytes() == words[other].tobytes()
        assert (checksum(swapped.view(np.uint8)) == before) == same


@pytest.mark.parametrize("width", [8, 10, 512, 1000, 4096])
def test_a_shuffle_of_rows_is_noticed_though_each_has_the_same_sum(width):
    rng = np.random.default_rng(0)
    rows = np.eye(width)[rng.integers(0, width, 20 * 4096 // width)]
    before = checksum(rows.reshape(-1).view(np.uint8))
    for _ in range(10):
        rng.shuffle(rows)
        assert checksum(rows.reshape(-1).view(np.uint8)) != before


def test_every_thread_adds_up_its_own_part():
    raw = some_bytes(70 * 2**20)
    before = checksum(raw)
    assert checksum(raw.copy()) == before
    for place in range(0, raw.size, 5 * 2**20 + 1):
        raw[place] ^= 128
        assert checksum(raw) != before
        raw[place] ^= 128
    assert checksum(raw) == before
