"""A dataset seen as rows of a base: every position leads to the sample it led to before.

Why a dataset cannot be shared sample by sample.
"""

import pickle
import sys
from array import array
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.client.dataset.unwrap import Concatenated, obstacle_to_sharing, unwrap
from joader.errors import BadArgument
from joader.storage import open_storage
from tests.client import torch_stand_in


class Numbered:
    """A dataset whose samples say which dataset and row they are."""

    def __init__(self, name, size):
        self.name = name
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, row):
        if not 0 <= row < self.size:
            raise IndexError(row)
        return self.name, int(row)


@contextmanager
def loaded(kind):
    """Give torch.utils.data; or, where torch need not be there, a stand-in under its name."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "torch":
            yield pytest.importorskip("torch.utils.data")
        else:
            patch.setitem(sys.modules, "torch.utils.data.dataset", torch_stand_in)
            yield torch_stand_in


KINDS = ["torch", "stand-in"]


@pytest.fixture(params=KINDS)
def data(request):
    with loaded(request.param) as module:
        yield module


def samples(dataset):
    return [dataset[position] for position in range(len(dataset))]


def unwrapped_samples(found):
    return [found.base[row] for row in found.rows.tolist()]


def test_a_plain_dataset_is_its_own_base():
    dataset = Numbered("a", 3)
    found = unwrap(dataset)
    assert found.base is dataset
    assert found.rows.tolist() == [0, 1, 2]
    assert found.rows.dtype == np.int64


@pytest.mark.parametrize("dataset", [Numbered("a", 0), [], np.zeros((0, 3))])
def test_a_dataset_of_no_rows_is_legal(dataset):
    assert unwrap(dataset).rows.tolist() == []


def test_anything_with_a_length_and_items_is_a_dataset():
    for dataset in ([5, 6], (5, 6), range(2), np.arange(6).reshape(2, 3), "ab"):
        assert unwrap(dataset).rows.tolist() == [0, 1]


def test_a_dataset_without_length_is_refused_by_name():
    class NoLength:
        def __getitem__(self, row):
            return row

    with pytest.raises(BadArgument, match=r"NoLength whose length is unknown.*define __len__"):
        unwrap(NoLength())


@pytest.mark.parametrize("length", [-1, "many"])
def test_a_length_that_is_no_count_is_refused(length):
    class Wrong(Numbered):
        def __len__(self):
            return length

    with pytest.raises(BadArgument, match="length is unknown"):
        unwrap(Wrong("a", 1))


def test_what_can_only_be_iterated_is_refused():
    with pytest.raises(BadArgument, match=r"generator.*give a map-style dataset"):
        unwrap(number for number in range(3))


def test_an_iterable_dataset_of_torch_is_refused_even_with_a_length(data):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 3

    for dataset in (Stream(), data.Subset(Stream(), [0])):
        with pytest.raises(BadArgument, match=r"Stream.*keep torch.utils.data.DataLoader"):
            unwrap(dataset)


def test_subsets_of_one_dataset_speak_of_its_rows(data):
    base = Numbered("a", 10)
    train, test = data.random_split(base, [7, 3])
    rows = [unwrap(part).rows.tolist() for part in (train, test)]
    assert unwrap(train).base is unwrap(test).base is base
    assert sorted(rows[0] + rows[1]) == list(range(10))
    assert [base[row] for row in rows[0]] == samples(train)


@pytest.mark.parametrize(
    "make",
    [
        *(list, tuple, lambda rows: array("i", rows), lambda rows: dict(enumerate(rows))),
        *(np.array, lambda rows: np.array(rows, np.int8), lambda rows: list(map(np.int32, rows))),
    ],
    ids=["list", "tuple", "array", "dict", "int64", "int8", "scalars"],
)
def test_indices_may_come_in_any_form(data, make):
    assert unwrap(data.Subset(Numbered("a", 5), make([3, -1, 3]))).rows.tolist() == [3, 4, 3]


def test_indices_may_be_tensors(data):
    torch = pytest.importorskip("torch")
    base = Numbered("a", 9)
    assert unwrap(data.Subset(base, torch.tensor([8, -9]))).rows.tolist() == [8, 0]
    assert unwrap(data.Subset(base, [torch.tensor(8)])).rows.tolist() == [8]
    by_floats = data.Subset(base, torch.tensor([8.0]))
    assert unwrap(by_floats).base is by_floats


def test_indices_may_be_a_range_unsigned_or_none(data):
    base = Numbered("a", 9)
    assert unwrap(data.Subset(base, range(8, 0, -3))).rows.tolist() == [8, 5, 2]
    assert unwrap(data.Subset(base, np.array([1, 8], np.uint64))).rows.tolist() == [1, 8]
    assert unwrap(data.Subset(base, [])).rows.dtype == np.int64


def test_rows_are_never_the_users_own_array(data):
    indices = np.array([2, 1])
    found = unwrap(data.Subset(Numbered("a", 3), indices))
    indices[:] = 0
    assert found.rows.tolist() == [2, 1]


@pytest.mark.parametrize("wrong", [3, -4, 2**40])
@pytest.mark.parametrize("make", [list, np.array], ids=["list", "array"])
def test_an_index_out_of_range_is_named(data, wrong, make):
    nest = data.ConcatDataset([Numbered("a", 1), data.Subset(Numbered("b", 3), make([0, wrong]))])
    with pytest.raises(BadArgument) as caught:
        unwrap(nest)
    assert f"dataset.datasets[1].indices[1] is {wrong}" in str(caught.value)
    assert "Numbered below has 3 rows; indices allowed: from -3 to 2" in str(caught.value)


def test_an_index_beyond_64_bits_is_refused(data):
    with pytest.raises(BadArgument, match="does not fit into 64 bits"):
        unwrap(data.Subset([1, 2], [0, 2**70]))


def test_an_index_into_an_empty_dataset_is_refused(data):
    with pytest.raises(BadArgument, match="has 0 rows; indices allowed: none"):
        unwrap(data.Subset([], [0]))


@pytest.mark.parametrize(
    "indices",
    [["a", "b"], [0.0, 1.0], np.array([0.5]), np.array([True]), np.zeros((2, 2), np.int64)],
    ids=["texts", "floats", "array of floats", "mask", "table"],
)
def test_a_subset_by_keys_is_a_base_of_its_own(data, indices):
    subset = data.Subset({"a": 1, "b": 2}, indices)
    found = unwrap(data.Subset(subset, [0]))
    assert found.base is subset
    assert found.rows.tolist() == [0]


def test_a_subset_of_a_dataset_without_length_is_a_base_of_its_own(data):
    class NoLength(data.Dataset):
        def __getitem__(self, row):
            return row * 10

    subset = data.Subset(NoLength(), [4, 2])
    assert unwrapped_samples(unwrap(subset)) == [40, 20]
    assert unwrap(subset).base is subset


def test_a_subclass_is_never_taken_off(data):
    class Doubled(data.Subset):
        def __getitem__(self, position):
            return super().__getitem__(position) * 2

        def __getitems__(self, positions):
            return [self[position] for position in positions]

    class Reversed(data.ConcatDataset):
        def __getitem__(self, position):
            return super().__getitem__(len(self) - 1 - position)

    for dataset in (Doubled([1, 2, 3], [2, 1]), Reversed([[1, 2], [3]])):
        found = unwrap(dataset)
        assert found.base is dataset
        assert unwrapped_samples(found) == samples(dataset)


def test_a_class_that_only_looks_like_a_subset_is_a_base():
    class Subset:
        def __init__(self):
            self.dataset, self.indices = Numbered("a", 9), [5]

        def __len__(self):
            return 1

        def __getitem__(self, row):
            return "own"

    look_alike = Subset()
    assert unwrap(look_alike).base is look_alike


def test_parts_of_one_dataset_put_together_are_rows_of_it(data):
    base = Numbered("a", 6)
    nest = data.ConcatDataset([data.Subset(base, [5, 0]), base, data.Subset(base, [5])])
    found = unwrap(nest)
    assert found.base is base
    assert found.rows.tolist() == [5, 0, 0, 1, 2, 3, 4, 5, 5]


def test_subsets_of_a_concatenation_have_one_base_whatever_parts_they_use(data):
    a, b = Numbered("a", 3), Numbered("b", 2)
    both = data.ConcatDataset([a, b])
    for indices in ([0, 1], [3, 4], [4, 0], []):
        found = unwrap(data.Subset(both, indices))
        assert found.base.parts == (a, b)
        assert found.rows.tolist() == indices


def test_a_concatenation_and_its_mirror_image_have_one_base_if_parts_are_ordered_by_key(data):
    a, b, a_again = Numbered("a", 3), Numbered("b", 2), Numbered("a", 3)
    one, other, third = (
        unwrap(data.ConcatDataset(parts), key_of=lambda part: part.name)
        for parts in ([a, b], [b, a], [b, a, a_again])
    )
    assert one.base.parts == other.base.parts == third.base.parts == (a, b)
    assert one.rows.tolist() == [0, 1, 2, 3, 4]
    assert other.rows.tolist() == [3, 4, 0, 1, 2]
    assert third.rows.tolist() == [3, 4, 0, 1, 2, 0, 1, 2]


def test_one_key_for_datasets_of_different_length_is_refused(data):
    nest = data.ConcatDataset([Numbered("a", 3), Numbered("b", 2)])
    with pytest.raises(BadArgument, match="two datasets have the key 'same', one of 3 rows"):
        unwrap(nest, key_of=lambda part: "same")


def test_a_concatenation_whose_part_has_grown_is_refused(data):
    part = [1, 2]
    nest = data.ConcatDataset([part, [3]])
    part.append(9)
    with pytest.raises(BadArgument, match=r"ended at rows \[2, 3\].*they end at \[3, 4\]"):
        unwrap(nest)


def test_a_concatenation_of_ours_is_pickled_and_knows_its_end():
    both = pickle.loads(pickle.dumps(Concatenated([[1, 2], [], [3]])))
    assert list(both) == [1, 2, 3]
    assert len(both) == 3
    for row in (-1, 3):
        with pytest.raises(IndexError, match=f"row {row} of a dataset of 3 rows"):
            both[row]
    assert len(Concatenated([])) == 0


@st.composite
def nests(draw, data, depth=3):
    """Draw a nest over at most three bases."""
    kind = draw(st.sampled_from(["base", "subset", "concat"])) if depth else "base"
    if kind == "base":
        return draw(st.sampled_from(BASES))
    if kind == "concat":
        return data.ConcatDataset(draw(st.lists(nests(data, depth - 1), min_size=1, max_size=3)))
    inner = draw(nests(data, depth - 1))
    return data.Subset(inner, draw(st.lists(st.integers(0, len(inner) - 1))) if len(inner) else [])


BASES = [Numbered("a", 3), Numbered("b", 0), Numbered("c", 5)]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=150)
@given(drawn=st.data())
def test_every_position_of_any_nest_keeps_its_sample(kind, drawn):
    with loaded(kind) as data:
        nest = drawn.draw(nests(data))
        expected = samples(nest)
        for key_of in (None, lambda part: "cab"["abc".index(part.name)]):
            found = unwrap(nest, key_of=key_of)
            assert unwrapped_samples(found) == expected
            assert type(found.base) in (Numbered, Concatenated)


class Rows:
    def __getitem__(self, row: int) -> int:
        return row

    def __len__(self) -> int:
        return 4


class Batches(Rows):
    def __getitems__(self, rows: list[int]) -> list[int]:
        return rows


class Endless:
    def __getitem__(self, row: int) -> int:
        return row


@pytest.mark.parametrize(
    ("dataset", "chosen", "told"),
    [
        (object(), None, "a object, which has no rows"),
        ({0: "a", 2: "b"}, None, "a dict whose keys are not 0 to 1"),
        (Endless(), [0], "a Endless without a length"),
        (Rows(), [0, 4], "keys that are not row numbers"),
        (Rows(), [[0, 1], [-5]], "keys that are not row numbers"),
        (Batches(), None, "whose __getitems__ gives whole batches"),
    ],
)
def test_what_keeps_it_from_being_shared_is_said(dataset: Any, chosen: Any, told: str) -> None:
    assert told in obstacle_to_sharing(dataset, 2, chosen)


@pytest.mark.parametrize(
    ("dataset", "chosen"), [(Rows(), None), ({0: "a", 1: "b"}, None), (Rows(), [3, -4])]
)
def test_rows_with_numbers_can_be_shared(dataset: Any, chosen: Any) -> None:
    assert obstacle_to_sharing(dataset, 2, chosen) == ""


def test_whole_batches_do_not_matter_one_by_one_nor_of_a_storage(tmp_path: Any) -> None:
    assert obstacle_to_sharing(Batches(), None, None) == ""
    (tmp_path / "a.jpg").write_bytes(b"a")
    assert obstacle_to_sharing(open_storage([tmp_path / "a.jpg"]), 2, None) == ""


def test_streams_and_what_a_subset_wraps_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.data.dataset", torch_stand_in)
    stream = torch_stand_in.IterableDataset()
    assert "read from front to end" in obstacle_to_sharing(stream, 2, None)
