"""CIFAR-10 as people have it: Parquet, tars, arrays; made pictures without it."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from joader.errors import BadArgument
from papers.live.small_pictures import opened


def pictures(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    return rng.integers(0, 256, (count, 3, 32, 32), np.uint8), np.arange(count) % 10


def png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    body = io.BytesIO()
    Image.fromarray(pixels.transpose(1, 2, 0)).save(body, "png")  # without loss
    return body.getvalue()


def test_arrays_are_read_as_they_are(tmp_path: Path) -> None:
    parts = {"train": pictures(7), "test": pictures(3)}
    for part, (x, y) in parts.items():
        np.savez(tmp_path / f"cifar10-{part}.npz", x=x, y=y)
    found = opened(str(tmp_path), 0)
    for part, (x, y) in parts.items():
        assert np.array_equal(getattr(found, part).x, x)
        assert np.array_equal(getattr(found, part).y, y)
    assert "CIFAR-10, 7 pictures" in found.name


def test_tars_and_parquet_are_decoded(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (x, y), (test_x, test_y) = pictures(4), pictures(2)
    with tarfile.open(tmp_path / "cifar10-train.tar", "w") as tar:
        for row, (pixels, label) in enumerate(zip(x, y, strict=True)):
            for name, body in ((f"{row}.jpg", png(pixels)), (f"{row}.cls", b"%d" % label)):
                member = tarfile.TarInfo(name)
                member.size = len(body)
                tar.addfile(member, io.BytesIO(body))
    table = pa.table({"label": test_y, "class": ["a", "b"], "image": [png(p) for p in test_x]})
    pq.write_table(table, tmp_path / "cifar10-test.parquet")
    found = opened(str(tmp_path), 0)
    assert np.array_equal(found.train.x, x)
    assert np.array_equal(found.train.y, y)
    assert np.array_equal(found.test.x, test_x)
    assert np.array_equal(found.test.y, test_y)


def test_a_folder_without_pictures_says_what_it_should_have(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match=r"no file \*train\*.parquet .* or \*train\*.npz"):
        opened(str(tmp_path), 0)


def test_made_pictures_say_that_they_are_made_and_depend_on_the_seed_alone() -> None:
    one, same, other = opened(None, 40), opened(None, 40), opened(None, 40, seed=1)
    assert "not CIFAR-10" in one.name
    assert np.array_equal(one.train.x, same.train.x)
    assert not np.array_equal(one.train.x, other.train.x)
    assert set(one.train.y) == set(range(10))
