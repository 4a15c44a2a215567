"""Any map-style dataset as a storage."""

from pathlib import Path
from typing import Any

import pytest

from joader.errors import BadArgument, BadData
from joader.storage import DatasetStorage, Storage, Values, open_storage
from tests.storage.contract import ROWS, StorageContract, body


class Pairs:
    """Bytes and a number; `shift` changes what it gives."""

    def __init__(self, shift: int = 0, length: int = ROWS) -> None:
        self.shift, self.length = shift, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[bytes, int]:
        return body(row), row + self.shift


class InBatches(Pairs):
    def __getitems__(self, rows: list[int]) -> list[tuple[bytes, int]]:
        return [(body(row), row) for row in rows]

    def __getitem__(self, row: int) -> tuple[bytes, int]:
        raise AssertionError("rows are asked for together")


class TestDataset(StorageContract):
    names_itself = False

    def write(self, folder: Path) -> Any:
        return Pairs()

    def change(self, folder: Path) -> Any:
        return Pairs(shift=1)

    def expected(self) -> dict[str, Values]:
        return {"sample": [(body(row), row) for row in range(ROWS)]}

    def refused(self, folder: Path) -> list[Any]:
        return [Pairs(length=0)]


class TestDatasetWithKey(TestDataset):
    names_itself = True

    def open(self, what: Any, **options: Any) -> Storage:
        return DatasetStorage(what, key=f"pairs {what.shift}", **options)

    def test_a_misspelt_option_is_refused(self, folder: Path) -> None:
        """Is seen above."""


def test_parts_of_samples_can_have_names() -> None:
    storage = open_storage(Pairs(), columns=["image", "label"])
    assert storage.read([3, 1], ["label"]) == {"label": [3, 1]}
    assert storage[2] == (body(2), 2)
    one = open_storage(Pairs(), columns=["image", "label", "name"])
    with pytest.raises(BadData, match="a tuple that has no part 'image'"):
        one[0]


def test_rows_are_asked_for_together_where_the_dataset_can() -> None:
    assert open_storage(InBatches()).__getitems__([3, 4]) == [(body(3), 3), (body(4), 4)]


def test_its_name_has_to_be_given_here() -> None:
    with pytest.raises(BadArgument, match="known to its code alone; pass key="):
        open_storage(Pairs()).fingerprint()
