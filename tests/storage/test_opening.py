"""Which kind of storage is opened from what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, NoData
from joader.storage import (
    KINDS,
    Arrays,
    DatasetStorage,
    FileList,
    ImageFolder,
    TarShards,
    open_storage,
)
from tests.storage.test_dataset import Pairs
from tests.storage.test_tar import members, write_tar


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))


def test_the_kind_is_found_from_what_is_given(tmp_path: Path) -> None:
    write_tar(tmp_path / "t.tar", members(range(3)))
    (tmp_path / "classes" / "a").mkdir(parents=True)
    (tmp_path / "classes" / "a" / "1.jpg").write_bytes(b"1")
    np.save(tmp_path / "a.npy", np.arange(3))
    found: list[tuple[Any, type]] = [
        (tmp_path / "t.tar", TarShards),
        ([str(tmp_path / "t.tar")], TarShards),
        (tmp_path / "classes", ImageFolder),
        (tmp_path / "classes" / "a", FileList),
        ([tmp_path / "t.tar", tmp_path / "a.npy"], FileList),
        (str(tmp_path / "classes" / "a" / "*.jpg"), FileList),
        (tmp_path / "a.npy", Arrays),
        ({"x": tmp_path / "a.npy", "y": np.arange(3)}, Arrays),
        (np.arange(3), Arrays),
        (Pairs(), DatasetStorage),
    ]
    for what, kind in found:
        assert type(open_storage(what)) is kind, what


def test_a_storage_is_taken_as_it_is() -> None:
    storage = open_storage(np.arange(3))
    assert open_storage(storage) is storage
    with pytest.raises(BadArgument, match="takes no further options"):
        open_storage(storage, columns=["value"])


@pytest.mark.parametrize("what", [3, None, {}, [], [1, 2], b"bytes", {"a": 1}, iter("abc")])
def test_anything_else_is_refused_with_the_list_of_kinds(what: Any) -> None:
    with pytest.raises(BadArgument, match="cannot be opened from") as raised:
        open_storage(what)
    assert all(f"\n  {kind} " in str(raised.value) for kind in KINDS)


def test_a_file_of_an_unknown_kind_is_refused_with_the_list_of_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_bytes(b"")
    with pytest.raises(BadArgument, match=r"a\.xyz is a file of an unknown kind") as raised:
        open_storage(tmp_path / "a.xyz")
    assert "lmdb" in str(raised.value)
    with pytest.raises(BadArgument, match=r"kind is 'xyz'; it must be one of:"):
        open_storage(tmp_path / "a.xyz", kind="xyz")


def test_a_path_that_does_not_exist_is_named_with_where_it_was_looked_for() -> None:
    with pytest.raises(NoData, match=r"no/where does not exist \(looked for in /"):
        open_storage("no/where")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    with pytest.raises(NoData, match="is empty; give a folder with data"):
        open_storage(tmp_path / "e")


def test_an_empty_choice_of_columns_is_refused() -> None:
    with pytest.raises(BadArgument, match="a sample needs one or more of 'value'"):
        open_storage(np.arange(3), columns=[])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.zip", "unpack it"),
        ("a.npz", "np.save"),
        ("a.tar.gz", "unpack it"),
        ("A.TGZ", "unpack it"),
        ("a.jsonl.gz", "unpack it"),
    ],
)
def test_what_is_packed_is_to_be_unpacked(tmp_path: Path, name: str, advice: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    for place in (tmp_path / name, f"s3://bucket/{name}"):
        with pytest.raises(BadArgument, match=rf"{name} is packed .*{advice}"):
            open_storage(place)


def test_a_dict_of_datasets_names_what_can_be_opened() -> None:
    datasets = pytest.importorskip("datasets", reason="its dicts are opened")
    one = datasets.Dataset.from_dict({"a": [1]})
    splits = datasets.DatasetDict({"train": one, "test": one})
    with pytest.raises(BadArgument, match=r"open one of them: \['train'\], \['test'\]"):
        open_storage(splits)
