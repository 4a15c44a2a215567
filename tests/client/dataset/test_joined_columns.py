"""Columns that the job puts beside samples itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.client.dataset.joined_columns import Joining, beside_files
from joader.storage import FileList, open_storage


@pytest.fixture
def files(tmp_path: Path) -> FileList:
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode())
    paths = [tmp_path / name for name in "abc"]
    storage = open_storage(paths, labels=[5, 6, 7], columns=["label", "image", "path"])
    assert isinstance(storage, FileList)
    return storage


def joining(files: FileList) -> Joining:
    found = beside_files(files)
    assert found is not None
    return found


def test_only_the_content_of_files_is_read_in_workers(files: FileList) -> None:
    assert joining(files).base.sample_columns == ("image",)
    assert joining(files).named is files


def test_samples_have_all_columns_in_their_order(files: FileList) -> None:
    rows = np.array([2, 0])
    found = joining(files).samples([b"C", b"A"], rows)
    expected = [files[2], files[0]]
    assert [(one[0], one[2]) for one in found] == [(one[0], one[2]) for one in expected]
    assert [one[1] for one in found] == [b"C", b"A"]


def test_a_batch_has_numbers_as_an_array_and_texts_as_a_tuple(files: FileList) -> None:
    data: Any = joining(files).batch([b"C", b"A"], np.array([2, 0]), as_numpy=True)
    labels, images, paths = data
    assert isinstance(data, list)
    assert labels.tolist() == [7, 5]
    assert images == [b"C", b"A"]
    assert isinstance(paths, tuple)
    assert [path[-1] for path in paths] == ["c", "a"]


def test_there_is_nothing_to_put_beside_content_alone(files: FileList) -> None:
    assert beside_files(files.narrowed(["image"])) is None
    assert beside_files(files.narrowed(["label"])) is None
