"""Tar shards in WebDataset's layout."""

import io
import os
import random
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadData, NoData, ReadFailed
from joader.storage import Values, open_storage, tar_index
from tests.storage.contract import ROWS, StorageContract, body


def write_tar(path: Path, members: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> None:
    with tarfile.open(path, "w", format=form) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def sample(row: int) -> dict[str, bytes]:
    return {f"s/{row:05}.cls": b"%d" % (row % 7), f"s/{row:05}.jpg": body(row)}


def members(rows: range) -> dict[str, bytes]:
    return {name: data for row in rows for name, data in sample(row).items()}


class TestTarShards(StorageContract):
    def write(self, folder: Path) -> Any:
        write_tar(folder / "a-000.tar", members(range(25)))
        write_tar(folder / "a-001.tar", members(range(25, ROWS)), tarfile.PAX_FORMAT)
        return str(folder / "a-{000..001}.tar")

    def change(self, folder: Path) -> Any:
        write_tar(folder / "a-001.tar", members(range(25, ROWS + 40)))
        return str(folder / "a-*.tar")

    def expected(self) -> dict[str, Values]:
        return {
            "jpg": list(map(body, range(ROWS))),
            "cls": np.arange(ROWS) % 7,
            "__key__": [f"s/{row:05}" for row in range(ROWS)],
        }

    def sample_columns(self) -> list[str]:
        return ["jpg", "cls"]

    def refused(self, folder: Path) -> list[Any]:
        write_tar(folder / "empty.tar", {})
        write_tar(folder / "odd.tar", {"README": b"", "__meta__.json": b"", ".hidden": b""})
        names = ("empty.tar", "odd.tar", "nowhere.tar", "b-*.tar", "b-{0..3}.tar")
        return [str(folder / name) for name in names]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))


LONG = "d" * 90 + "/" + "e" * 120 + "/" + "f" * 60


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_form_of_tar_is_read_as_tarfile_reads_it(tmp_path: Path, form: int) -> None:
    names = ["a.jpg", "b/c.d.JPG", "ü/x.jpg", "d" * 80 + "/" + "e" * 90 + ".jpg"]
    names += [LONG + ".jpg"] if form != tarfile.USTAR_FORMAT else []
    path = tmp_path / "a.tar"
    write_tar(path, {name: name.encode() * 50 for name in names}, form)
    with tarfile.open(path, "a", format=form) as tar:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo(f"{LONG[91:]}/{int(kind)}.jpg")
            info.type, info.linkname = kind, "a.jpg"
            tar.addfile(info)
        last = tarfile.TarInfo("last.jpg")
        last.mtime = 1.5  # pax writes a header of its own for it
        last.size = 3
        tar.addfile(last, io.BytesIO(b"end"))
    storage = open_storage(path)
    keys = storage.read(range(len(storage)), ["__key__"])["__key__"]
    assert list(keys) == ["a", "b/c", "ü/x", *(name[:-4] for name in names[3:]), "last"]
    assert storage.read([0, 2], ["jpg"])["jpg"] == [names[0].encode() * 50, names[2].encode() * 50]
    assert storage.read([1], ["d.jpg"])["d.jpg"] == [names[1].encode() * 50]
    assert storage.read([len(storage) - 1], ["jpg"])["jpg"] == [b"end"]


def test_what_gnu_tar_writes_is_read(tmp_path: Path) -> None:
    for name, data in members(range(5)).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    subprocess.run(["tar", "cf", "a.tar", "--sort=name", "s"], cwd=tmp_path, check=True)
    storage = open_storage(tmp_path / "a.tar")
    assert list(storage) == [(body(row), row) for row in range(5)]


def test_a_member_that_a_row_does_not_have_is_none(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "1.cls": b"3", "2.jpg": b"b", "3.json": b"{}"})
    storage = open_storage(tmp_path / "a.tar", columns=["jpg", "cls", "json"])
    assert list(storage) == [(b"a", 3, None), (b"b", None, None), (None, None, b"{}")]


def test_members_of_a_row_need_not_be_neighbours(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "2.jpg": b"b", "1.cls": b"1", "2.cls": b"2"})
    assert list(open_storage(tmp_path / "a.tar")) == [(b"a", 1), (b"b", 2)]


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("1.jpg"))
        tar.addfile(tarfile.TarInfo("1.jpg"))
    with pytest.raises(BadData, match=r"two members '1\.jpg'"):
        open_storage(tmp_path / "a.tar")


def test_a_class_that_is_no_number_is_named(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "1.cls": b"cat"})
    with pytest.raises(BadData, match=r"1\.cls holds b'cat'; a class must be an integer"):
        open_storage(tmp_path / "a.tar")[0]


@pytest.mark.parametrize("left_out", [600, 1024 * 8, 1024 * 10 - 300])
def test_a_tar_that_is_cut_off_is_refused(tmp_path: Path, left_out: int) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, {f"{row}.jpg": bytes(700) for row in range(20)})
    whole = 20 * (512 + 1024)
    path.write_bytes(path.read_bytes()[: whole - left_out])
    with pytest.raises(BadData, match=r"a\.tar is truncated: the member at byte \d+ goes beyond"):
        open_storage(path)


def test_what_is_no_tar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(b"nothing of a tar" * 100)
    with pytest.raises(BadData, match=r"a\.tar is not a tar; make it again"):
        open_storage(path)
    write_tar(path, members(range(5)))
    damaged = bytearray(path.read_bytes())
    damaged[1024 + 50] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(BadData, match="is damaged at byte 1024"):
        open_storage(path)


@pytest.mark.parametrize(("mode", "name"), [("w:gz", "gzip"), ("w:bz2", "bzip2"), ("w:xz", "xz")])
def test_a_compressed_tar_is_refused_by_name(tmp_path: Path, mode: Any, name: str) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, mode) as tar:
        info = tarfile.TarInfo("1.jpg")
        info.size = 10000
        tar.addfile(info, io.BytesIO(np.random.default_rng(0).bytes(10000)))
    with pytest.raises(BadData, match=f"is compressed with {name}"):
        open_storage(path)


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


def test_a_tar_that_shrank_after_it_was_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, {"1.jpg": bytes(9000)})
    storage = open_storage(path)
    path.write_bytes(path.read_bytes()[:4000])
    with pytest.raises(ReadFailed, match="was truncated or rewritten after it was opened"):
        storage[0]


def test_more_shards_than_are_kept_open_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joader.storage.local_files.MAX_OPEN", 3)
    for row in range(8):
        write_tar(tmp_path / f"a-{row}.tar", sample(row))
    storage = open_storage(tmp_path)
    for _ in range(2):
        assert storage.read([7, 0, 4, 2, 6], ["cls"])["cls"].tolist() == [0, 0, 4, 2, 6]  # type: ignore[union-attr]


def test_a_folder_without_tars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoData, match=r"no files that end in \.tar"):
        open_storage(tmp_path, kind="tar")


def repaired(body: bytearray) -> bytes:
    """Make the sums of all headers right again, so that what is wrong is found further inside."""
    for at in range(0, len(body) - 511, 512):
        header = body[at : at + 512]
        if header[257:262] == b"ustar":
            header[148:156] = b" " * 8
            body[at + 148 : at + 156] = b"%06o\0 " % sum(header)
    return bytes(body)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_damage_anywhere_is_an_error_of_ours_or_another_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: int
) -> None:
    monkeypatch.setenv("JOADER_CACHE", "/proc/nothing")
    monkeypatch.setattr(tar_index, "SETTLED_NS", 0)
    path = tmp_path / "a.tar"
    names = [f"{'ü' * 70 * (row % 2)}{row}.jpg" for row in range(4)]
    write_tar(path, {name: bytes(300) for name in names}, form)
    whole = path.read_bytes()
    rng = random.Random(0)
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[rng.randrange(len(whole))] = rng.choice([0, 32, 45, 48, 57, 255])
        if rng.random() < 0.3:
            damaged = damaged[: rng.randrange(len(whole))]
        path.write_bytes(repaired(damaged))
        with suppress(BadData, NoData):
            list(open_storage(path))
