"""The fast road takes what is plain, gives what Pillow gives, and declines the rest."""

import numpy as np
import pytest
from PIL import Image

from joader.images import libraries
from joader.images.body import body_of
from joader.images.jpeg import jpeg_pixels, jpeg_shape
from tests.images.pictures import by_pillow, encoded, every_kind, jpeg, scene

pytest.importorskip("simplejpeg")
KINDS = every_kind()
PLAIN = [kind for kind in KINDS if kind.startswith("JPEG") and "CMYK" not in kind]


@pytest.mark.parametrize("kind", PLAIN)
def test_a_plain_jpeg_is_decoded_here(kind: str) -> None:
    body = body_of(KINDS[kind])
    image = jpeg_pixels(body, None)
    assert image is not None
    assert np.array_equal(image, by_pillow(KINDS[kind]))
    assert jpeg_shape(body) == image.shape


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PLAIN])
def test_everything_else_is_declined(kind: str) -> None:
    assert jpeg_shape(body_of(KINDS[kind])) is None
    assert jpeg_pixels(body_of(KINDS[kind]), None) is None


def test_a_damaged_jpeg_is_declined() -> None:
    assert jpeg_pixels(body_of(jpeg()[:400]), None) is None
    assert jpeg_pixels(body_of(jpeg()[:-2]), None) is None


def test_without_simplejpeg_all_is_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "simplejpeg", lambda: None)
    assert jpeg_shape(body_of(jpeg())) is None


def test_what_pillow_forgives_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import ImageFile

    from joader.images import decode

    cut = encoded(scene(64, 64), "JPEG")[:-40]
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert decode(cut).shape == (64, 64, 3)
    assert Image.MAX_IMAGE_PIXELS is not None
