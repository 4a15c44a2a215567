"""Where the members of a tar are: as tarfile finds them, and no damage goes unnoticed."""

import io
import random
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadData, NoData
from joader.storage import open_storage, tar_index
from tests.storage.contract import body
from tests.storage.test_tar import members, write_tar


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
