"""Photos of Hugging Face datasets come as the library gives them: turned by their EXIF."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.images.decode import decode
from joader.storage import open_storage
from joader.storage.upright import upright

PIL = pytest.importorskip("PIL.Image", reason="photos are made by Pillow")
datasets = pytest.importorskip("datasets", reason="the library is compared with")


def photo(form: str = "JPEG", turn: int | None = 1, mode: str = "RGB") -> bytes:
    levels = np.random.default_rng(0).integers(0, 256, (6, 9, 3), np.uint8)
    exif = PIL.Exif()
    if turn is not None:
        exif[0x0112] = turn
    file = io.BytesIO()
    PIL.fromarray(levels).convert(mode).save(file, form, exif=exif)
    return file.getvalue()


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    datasets.disable_progress_bars()
    bodies = [photo(form, turn) for form in ("JPEG", "PNG", "WEBP", "TIFF") for turn in range(1, 9)]
    bodies += [photo("JPEG", turn, mode) for turn in (3, 6) for mode in ("L", "CMYK")]
    bodies += [photo("PNG", 6, mode) for mode in ("RGBA", "P", "1", "LA")]
    made = {"image": [{"bytes": body, "path": None} for body in bodies]}
    features = datasets.Features({"image": datasets.Image()})
    return datasets.Dataset.from_dict(made, features=features)


def same(storage: Any, dataset: Any) -> None:
    for row in range(len(dataset)):
        expected = np.asarray(dataset[row]["image"].convert("RGB"))
        assert np.array_equal(decode(storage[row]), expected), row
    many = storage.read(range(len(dataset)))["image"]
    assert many == [storage[row] for row in range(len(dataset))]


@pytest.mark.filterwarnings("ignore:Palette images")
def test_an_open_dataset_gives_what_the_library_gives(photos: Any) -> None:
    same(open_storage(photos), photos)
    some = photos.select([7, 5, 20])
    same(open_storage(some), some)


@pytest.mark.filterwarnings("ignore:Palette images")
def test_a_saved_dataset_gives_what_the_library_gives(photos: Any, tmp_path: Path) -> None:
    photos.save_to_disk(str(tmp_path / "saved"))
    same(open_storage(tmp_path / "saved"), datasets.load_from_disk(str(tmp_path / "saved")))


def test_images_that_the_library_does_not_decode_come_as_they_are_stored(photos: Any) -> None:
    raw = photos.cast_column("image", datasets.Image(decode=False))
    storage = open_storage(raw)
    assert [storage[row] for row in range(8)] == [raw[row]["image"]["bytes"] for row in range(8)]
    assert storage.fingerprint() != open_storage(photos).fingerprint()
    assert storage.reads_as() != open_storage(photos).reads_as()


@pytest.mark.parametrize("body", [photo(), photo(turn=None), photo(turn=9), b"", b"\xff\xd8", None])
def test_what_is_not_turned_or_no_image_is_the_same_object(body: Any) -> None:
    assert upright(body) is body


def test_a_turned_photo_that_is_cut_off_is_left_to_the_decoder() -> None:
    body = photo("PNG", 6)
    assert upright(body[:-40]) == body[:-40]


def test_files_of_a_folder_are_not_turned(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jpg").write_bytes(photo(turn=6))
    assert decode(open_storage(tmp_path)[0][0]).shape == (6, 9, 3)
