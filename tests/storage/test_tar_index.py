"""The rows of a tar: found once, and again only when it has changed."""

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from joader.errors import BadData
from joader.storage import open_storage, tar_index
from tests.storage.test_tar import members, write_tar


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))


def test_members_of_a_row_need_not_be_neighbours(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "2.jpg": b"b", "1.cls": b"1", "2.cls": b"2"})
    assert list(open_storage(tmp_path / "a.tar")) == [(b"a", 1), (b"b", 2)]


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("1.jpg"))
        tar.addfile(tarfile.TarInfo("1.jpg"))
    with pytest.raises(BadData, match=r"two members '1\.jpg'"):
        open_storage(tmp_path / "a.tar")


def test_an_index_is_kept_until_the_tar_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tar"
    found = []

    def noted(files: Any, name: str, size: int) -> Any:
        found.append(name)
        return members_of(files, name, size)

    members_of = tar_index.members
    monkeypatch.setattr(tar_index, "members", noted)
    write_tar(path, members(range(5)))
    os.utime(path, ns=(10**18, 10**18))
    first = open_storage(path)
    again = open_storage(path)
    assert len(found) == 1
    assert list(first) == list(again)
    os.utime(path, ns=(10**18, 10**18 + 1))
    open_storage(path)
    assert len(found) == 2
    found.clear()
    write_tar(path, members(range(9)))
    assert len(open_storage(path)) == 9
    assert len(open_storage(path)) == 9
    assert len(found) == 1


def test_a_tar_that_changed_just_now_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, members(range(5)))

    def change(seconds: float) -> None:
        write_tar(path, members(range(7)))

    monkeypatch.setattr(tar_index.time, "sleep", change)
    os.utime(path)
    assert len(open_storage(path)) == 7


def test_a_damaged_or_forbidden_cache_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, members(range(5)))
    os.utime(path, ns=(10**18, 10**18))
    expected = list(open_storage(path))
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", b"[]\n", whole[:-1], b"x" * 100):
        file.write_bytes(damaged)
        assert list(open_storage(path)) == expected
    monkeypatch.setenv("JOADER_CACHE", "/proc/nothing")
    assert list(open_storage(path)) == expected
