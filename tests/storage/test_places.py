"""Where files are, and digests of them that change when they do."""

import os
from pathlib import Path

import pytest

from joader.errors import BadArgument
from joader.storage import places
from joader.storage.local_files import LocalFiles
from joader.storage.names import Names
from joader.storage.places import (
    Run,
    digests_of,
    files_at,
    files_of,
    is_url,
    paths_stamped,
    runs,
    runs_stamped,
    shown,
)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
        os.utime(folder / name, ns=(10**18, 10**18))


def test_files_of_one_place_are_named_in_it() -> None:
    assert is_url("s3://bucket/a")
    assert not is_url("/data/s3://a")
    files, names = files_of(["a/b", "/c"], None, None)
    assert isinstance(files, LocalFiles)
    assert names == [os.path.abspath("a/b"), "/c"]


def test_files_of_several_places_or_settings_for_a_folder_are_refused() -> None:
    with pytest.raises(BadArgument, match="files of 2 places: s3://a, this machine"):
        files_of(["s3://a/b", "/c"], None, None)
    with pytest.raises(BadArgument, match="settings are for object stores"):
        files_at("/data", None, {"region": "a"})


def test_a_list_of_paths_is_shown_in_short() -> None:
    assert shown(["/a"]) == "/a"
    assert shown(["/a"] * 1235) == "/a and 1,234 more"


def test_a_digest_changes_with_size_time_and_name_only(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    before = paths_stamped(paths)
    assert before == paths_stamped(paths) != paths_stamped(paths[::-1])
    os.utime(paths[0], ns=(1, 10**18 + 1))
    later = paths_stamped(paths)
    assert later != before
    os.utime(paths[0], ns=(1, 10**18))
    assert paths_stamped(paths) == before


def test_consecutive_files_of_a_folder_are_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names.of(["a/1", "a/2", "b/c/3", "a/4", "5"])
    found = [Run("a", 0, 2), Run("b/c", 2, 3), Run("a", 3, 4), Run("", 4, 5)]
    assert runs(names) == found
    monkeypatch.setattr(places, "MOST_RUNS", 3)
    assert runs(names) == [Run("", 0, 5)]


def test_a_run_has_one_digest_from_whatever_folder_it_is_listed(tmp_path: Path) -> None:
    write(tmp_path, "top/a/1", "top/a/2", "top/b/3")
    whole, part = LocalFiles(str(tmp_path / "top")), LocalFiles(str(tmp_path / "top/a"))
    all_names, some = Names.of(["a/1", "a/2", "b/3"]), Names.of(["1", "2"])
    outer = runs_stamped(whole, all_names, whole.stamps(list(all_names)))
    ((_, inner),) = runs_stamped(part, some, part.stamps(list(some)))
    assert outer[0][1] == inner != outer[1][1]


def test_parts_of_a_digest_do_not_run_into_each_other() -> None:
    assert digests_of("ab", "c") != digests_of("a", "bc")
    assert digests_of("ab", b"c") == digests_of(b"ab", "c")
