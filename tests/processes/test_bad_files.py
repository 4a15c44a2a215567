"""Files that are no images, or no longer there: row, path, step and what to do are told."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import joader
from joader.errors import RowFailed
from joader.images import Decode, Resize
from tests.processes.conftest import Node
from tests.processes.test_bad_input import loader

ROWS = 12
BAD = 5


class Files:
    """Row i is the file i in a folder: its path, or its bytes."""

    def __init__(self, folder: Path, as_bytes: bool = False) -> None:
        self.folder, self.as_bytes = folder, as_bytes

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> Any:
        path = self.folder / f"{row}.jpg"
        return (path.read_bytes() if self.as_bytes else str(path)), row


def png(width: int, height: int) -> bytes:
    """Return a small PNG that announces so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for row in range(ROWS):
        pixels = np.random.default_rng(row).integers(0, 255, (40, 50, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{row}.jpg", "JPEG")
    return tmp_path


def read(data: Any, **options: Any) -> list[int]:
    with loader(data, shuffle=True, prepare=[Decode(), Resize(16, 16)], **options) as batches:
        return [row for _, rows in batches for row in rows.tolist()]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda good: b"", "it is empty; download the file again, or leave it out"),
        (
            lambda good: good[: len(good) // 2],
            "it is truncated or damaged: download the file again",
        ),
        (
            lambda good: good[:100] + b"\0" * 400,
            "it is truncated or damaged: download the file again",
        ),
        (
            lambda good: b"<html>404</html>",
            "it begins with 3c 68 74 6d 6c 3e 34 30, unlike any format",
        ),
        (lambda good: png(50_000, 50_000), "exceeds limit of 178956970 pixels.*MAX_IMAGE_PIXELS"),
    ],
    ids=["zero bytes", "truncated", "corrupt", "no image", "decompression bomb"],
)
def test_a_bad_file_is_named_with_its_row_and_step(
    shared_node: Node, photos: Path, bad: Any, said: str
) -> None:
    path = photos / f"{BAD}.jpg"
    path.write_bytes(bad(path.read_bytes()))
    for as_bytes in (False, True):
        with pytest.raises(RowFailed, match=said) as caught:
            read(Files(photos, as_bytes))
        text = str(caught.value)
        assert text.startswith(
            f"row {BAD} (position {BAD}) could not be prepared:\nprepare: Decode("
        )
        assert as_bytes or str(path) in text
    got = read(Files(photos), on_error="skip")
    assert sorted(got) == [row for row in range(ROWS) if row != BAD]


def test_a_file_that_is_deleted_during_training_is_named(shared_node: Node, photos: Path) -> None:
    with loader(Files(photos), prepare=[Decode()], batch_size=1, on_error="skip") as batches:
        assert len(list(batches)) == ROWS
        (photos / f"{BAD}.jpg").unlink()
        assert len(list(batches)) == ROWS - 1
        assert batches.stats().skipped == 1
    with pytest.raises(RowFailed, match=rf"on the file {photos}/{BAD}.jpg:[\s\S]*FileNotFound"):
        read(Files(photos))


def test_a_sample_larger_than_the_budget_says_what_to_do(shared_node: Node, photos: Path) -> None:
    """9,000 x 9,000 pixels are 243 MB; the daemon has 64 MiB."""
    Image.new("L", (9_000, 9_000)).save(photos / f"{BAD}.jpg", "JPEG")
    with (
        pytest.raises(
            (RowFailed, joader.errors.Refusal), match=r"the budget is.*joader up --memory"
        ),
        loader(Files(photos), prepare=[Decode()], batch_size=1, fallback=False) as batches,
    ):
        list(batches)
