"""Why a dataset cannot be shared sample by sample."""

import sys
from typing import Any

import pytest

from joader.client.dataset.obstacle import obstacle_to_sharing
from joader.storage import open_storage
from tests.client import torch_stand_in


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
