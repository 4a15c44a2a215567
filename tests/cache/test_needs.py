"""What one job has still to read: both forms against a plain set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.cache.needs import DenseNeeds, SparseNeeds, needs_of
from joader.errors import BadRows

DENSE = st.integers(0, 40)
SPARSE = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(("numbers", "form"), [(DENSE, DenseNeeds), (SPARSE, SparseNeeds)])
@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_both_forms_behave_like_a_set_that_shrinks(numbers, form, data):
    model = data.draw(st.sets(numbers, min_size=form is SparseNeeds))
    if form is SparseNeeds:
        model.add(2**32 - 1)  # far beyond 32 numbers a sample
    needs = needs_of(list(model))
    assert isinstance(needs, form)
    for sample in data.draw(st.lists(numbers | st.sampled_from(sorted(model) or [0]))):
        assert needs.remove(sample) == (sample in model)
        model.discard(sample)
        assert needs.count == len(model)
    each = np.array(data.draw(st.lists(numbers)) + sorted(model), np.int64)
    assert needs.has_each(each).tolist() == [sample in model for sample in each.tolist()]
    assert [needs.has(sample) for sample in each.tolist()] == needs.has_each(each).tolist()
    gone = data.draw(st.sets(st.sampled_from(sorted(model)))) if model else set()
    needs.remove_each(np.array(sorted(gone), np.int64))
    assert needs.count == len(model - gone)
    assert needs.has_each(each).tolist() == [s in model - gone for s in each.tolist()]


def test_a_number_below_zero_or_beyond_the_limit_is_not_needed():
    for needs in (needs_of([0, 7]), needs_of([0, 2**32 - 1])):
        assert not needs.has(-1)
        assert not needs.remove(-1)
        assert not needs.has(2**32)
        assert not needs.remove(2**32)


def test_dense_samples_take_one_bit_each():
    assert len(needs_of(np.arange(80_000))._bits) == 10_000


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_samples_may_come_in_any_integer_type(dtype):
    assert needs_of(np.array([3, 1, 2], dtype)).count == 3


@pytest.mark.parametrize(
    "samples",
    [[-1], [2**32], [1, 1], [5, 2**31, 5], [0.5], [True], [[1, 2]], ["a"], 7],
    ids=str,
)
def test_what_is_not_distinct_integers_below_two_to_the_32_is_refused(samples):
    with pytest.raises(BadRows):
        needs_of(samples)
