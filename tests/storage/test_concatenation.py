"""Several storages as one."""

from pathlib import Path

import pytest

from joader.errors import UnknownRow
from joader.storage import FileList, open_storage
from joader.storage.concatenation import Concatenation, joins


def listed(folder: Path, *names: str, labels: list[int] | None = None) -> FileList:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(f"{folder.name}/{name}".encode())
    paths = [str(folder / name) for name in names]
    storage = open_storage(paths, **({} if labels is None else {"labels": labels}))
    assert isinstance(storage, FileList)
    return storage


@pytest.fixture
def parts(tmp_path: Path) -> list[FileList]:
    return [
        listed(tmp_path / "x", "1", "2", labels=[5, 6]),
        listed(tmp_path / "y", "3", labels=[7]),
    ]


def test_rows_of_one_part_follow_those_of_another(parts: list[FileList]) -> None:
    whole = Concatenation(parts)
    assert list(whole) == [(b"x/1", 5), (b"x/2", 6), (b"y/3", 7)]
    assert list(whole.read([2, 0], ["image"])["image"]) == [b"y/3", b"x/1"]
    with pytest.raises(UnknownRow):
        whole[3]


def test_its_pieces_and_identity_are_those_of_its_parts_in_order(parts: list[FileList]) -> None:
    one, other = Concatenation(parts), Concatenation(parts[::-1])
    assert one.fingerprint() != other.fingerprint()
    pieces, others = one.pieces(), other.pieces()
    assert pieces is not None
    assert others is not None
    assert pieces != others
    assert sorted(pieces) == sorted(others)
    assert sum(rows for _, rows in pieces) == 3


def test_columns_may_be_fewer_and_labels_are_at_hand_as_numbers(parts: list[FileList]) -> None:
    whole = Concatenation(parts)
    assert list(whole.narrowed(["label"])) == [5, 6, 7]
    labels = whole.at_hand(whole._checked([2, 1]), "label")
    assert (labels.tolist(), labels.dtype.kind) == ([7, 6], "i")  # type: ignore[union-attr]
    assert whole.place().endswith(" and 1 more")


def test_only_storages_that_read_alike_are_joined(parts: list[FileList], tmp_path: Path) -> None:
    assert joins(parts)
    assert not joins([parts[0], listed(tmp_path / "z", "4")])
    assert not joins([parts[0], [1, 2]])
