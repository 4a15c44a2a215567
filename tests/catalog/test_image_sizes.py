"""Widths and heights of images in the row table."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.catalog import image_sizes
from joader.errors import BadArgument

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")
PIL = pytest.importorskip("PIL.Image", reason="pictures are made by Pillow")


def picture(width: int, height: int, kind: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    PIL.fromarray(np.zeros((height, width, 3), np.uint8)).save(file, kind, **options)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures" / "c"
    pictures.mkdir(parents=True)
    (pictures / "0.jpg").write_bytes(picture(20, 10))
    (pictures / "1.jpg").write_bytes(b"this is no image")
    (pictures / "2.png").write_bytes(picture(7, 30, "PNG"))
    return pictures.parent


def test_sizes_are_kept_and_rows_chosen_by_them(catalog: Path, folder: Path) -> None:
    table = joader.create("sized", folder, sizes=True)
    assert table.rows(where="width > height").tolist() == [0]
    assert table.rows(where="width is null").tolist() == [1]
    assert table.rows(where="height >= 30 and width = 7").tolist() == [2]
    (folder / "c" / "1.jpg").write_bytes(picture(50, 40))
    table.refresh()
    assert table.rows(where="width = 50 and height = 40").tolist() == [3]


def test_a_header_behind_a_preview_is_found(
    catalog: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_sizes, "_HEAD_BYTES", 64)
    (folder / "c" / "3.jpg").write_bytes(picture(33, 44, comment=b"c" * 2000))
    table = joader.create("sized", folder, sizes=True)
    assert table.rows(where="width = 33 and height = 44").tolist() == [3]


def test_sizes_of_images_in_tars(catalog: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number in range(3):
            data = picture(10 + number, 5)
            info = tarfile.TarInfo(f"{number}.jpg")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    table = joader.create("tar", tmp_path / "a.tar", sizes=True)
    assert table.values("width").tolist() == [10, 11, 12]


def test_sizes_need_images(catalog: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(BadArgument, match="needs a column of image bytes"):
        joader.create("arrays", tmp_path / "a.npy", sizes=True)
