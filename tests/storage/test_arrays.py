"""NumPy arrays and .npy files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, BadData
from joader.storage import Values, open_storage
from tests.storage.contract import ROWS, StorageContract

IMAGES = np.random.default_rng(0).integers(0, 255, (ROWS, 4, 5, 3), np.uint8)
LABELS = np.arange(ROWS, dtype=np.int16) % 7


class TestArrays(StorageContract):
    def write(self, folder: Path) -> Any:
        return {"image": IMAGES.copy(), "label": LABELS}

    def change(self, folder: Path) -> Any:
        images = IMAGES.copy()
        images[30, 1, 1, 1] ^= 1
        return {"image": images, "label": LABELS}

    def expected(self) -> dict[str, Values]:
        return {"image": IMAGES, "label": LABELS}

    def refused(self, folder: Path) -> list[Any]:
        return [{"a": np.zeros((0, 3))}, np.zeros(0)]


class TestMappedArrays(TestArrays):
    def write(self, folder: Path) -> Any:
        np.save(folder / "image.npy", np.asfortranarray(IMAGES))
        np.save(folder / "label.npy", LABELS)
        return folder

    def change(self, folder: Path) -> Any:
        np.save(folder / "label.npy", LABELS.astype(np.int64))
        return folder

    def refused(self, folder: Path) -> list[Any]:
        np.save(folder / "none.npy", IMAGES[:0])
        return [folder / "none.npy", folder / "nowhere.npy", {"a": folder / "nowhere.npy"}]


def test_an_array_alone_is_the_column_value(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", IMAGES)
    for what in (IMAGES, tmp_path / "a.npy"):
        storage = open_storage(what)
        assert dict(storage.columns) == {"value": "uint8"}
        assert np.array_equal(storage[3], IMAGES[3])
        assert type(storage[3]) is np.ndarray


def test_lengths_have_to_agree() -> None:
    with pytest.raises(BadArgument, match=r"different lengths: \{'a': 40, 'b': 39\}"):
        open_storage({"a": LABELS, "b": LABELS[1:]})


def test_what_is_no_array_of_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="give numbers"):
        open_storage(np.array([{}, {}]))
    with pytest.raises(BadArgument, match="give numbers"):
        open_storage(np.array(3))
    (tmp_path / "a.npy").write_bytes(b"nothing")
    with pytest.raises(BadData, match="cannot be mapped"):
        open_storage(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.zeros(1000))
    (tmp_path / "b.npy").write_bytes((tmp_path / "b.npy").read_bytes()[:500])
    with pytest.raises(BadData, match="cannot be mapped"):
        open_storage(tmp_path / "b.npy")
