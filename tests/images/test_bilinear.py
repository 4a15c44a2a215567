"""One image, resized."""

import numpy as np
import pytest

from joader.images import libraries
from joader.images.bilinear import resized

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)


@pytest.mark.parametrize("size", [(30, 40), (17, 90), (120, 160)])
def test_it_equals_pillow_within_one_level(size: tuple[int, int]) -> None:
    pillow = pytest.importorskip("PIL.Image")
    small = pillow.fromarray(IMAGE).resize(size[::-1], pillow.Resampling.BILINEAR)
    found = resized(IMAGE, *size)
    assert found.shape == (*size, 3)
    assert int(np.abs(found.astype(int) - np.array(small).astype(int)).max()) <= 1


def test_a_part_of_an_image_is_resized_as_if_it_was_an_image_of_its_own() -> None:
    pytest.importorskip("PIL.Image")
    part = IMAGE[5:45, 10:70]
    assert np.array_equal(resized(part, 20, 30), resized(part.copy(), 20, 30))


def test_an_image_of_that_size_is_itself_in_one_block() -> None:
    part = IMAGE[5:45, 10:70]
    same = resized(part, 40, 60)
    assert np.array_equal(same, part)
    assert same.flags.c_contiguous


def test_without_torch_pillow_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL.Image")
    before = resized(IMAGE, 30, 40)
    monkeypatch.setattr(libraries, "torch", lambda: None)
    after = resized(IMAGE, 30, 40)
    assert int(np.abs(before.astype(int) - after.astype(int)).max()) <= 1
