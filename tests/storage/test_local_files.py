"""Files of this machine: read whole or in part, and never in another state than was listed."""

import os
from pathlib import Path

import pytest

from joader.errors import NoData, ReadFailed
from joader.storage import local_files
from joader.storage.local_files import MISSING, LocalFiles, walk


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    for name in ("b/2", "b/.hidden", "a/3", "1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(f"content of {name}".encode())
    return LocalFiles(str(tmp_path))


def test_all_files_below_a_folder_are_found_folder_by_folder(files: LocalFiles) -> None:
    found = [os.path.relpath(path, files.root) for path in walk(files.root)]
    assert found == ["1", "a/3", "b/.hidden", "b/2"]


def test_files_are_read_whole_or_in_part_in_the_order_asked_for(files: LocalFiles) -> None:
    assert files.read_whole(["b/2", "1"]) == [b"content of b/2", b"content of 1"]
    assert files.read_parts([("1", 11, 1), ("b/2", 0, 7), ("1", 0, 0)]) == [b"1", b"content", b""]
    files.close()
    assert files.read_parts([("1", 0, 7)]) == [b"content"]


def test_more_files_than_are_kept_open_are_read_too(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_files, "MAX_OPEN", 1)
    for _ in range(2):
        assert files.read_parts([("1", 0, 3), ("a/3", 11, 3)]) == [b"con", b"a/3"]


def test_a_file_that_is_gone_or_cut_is_named(files: LocalFiles) -> None:
    with pytest.raises(ReadFailed, match=r"nowhere cannot be read: No such file"):
        files.read_whole(["nowhere"])
    with pytest.raises(ReadFailed, match=r"1 has fewer than \d+ bytes from byte \d+ on"):
        files.read_parts([("1", 2, 99)])


def test_a_file_that_has_changed_since_it_was_listed_is_not_read(files: LocalFiles) -> None:
    stamps = [(size, int(change)) for size, change in files.stamps(["1"])]
    assert files.read_unchanged(["1"], stamps) == [b"content of 1"]
    os.utime(files.path("1"), ns=(1, 1))
    with pytest.raises(ReadFailed, match="was changed after it was listed"):
        files.read_unchanged(["1"], stamps)


def test_a_file_that_is_not_there_has_no_stamp_unless_that_is_allowed(files: LocalFiles) -> None:
    with pytest.raises(NoData, match="nowhere cannot be accessed"):
        files.stamps(["nowhere"])
    assert files.stamps(["nowhere", "1"], missing_ok=True)[0] == MISSING
