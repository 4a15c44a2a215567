"""Where Pillow's own conversion would lose the picture, and where it refuses."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image

from joader.errors import BadImage, MissingExtra
from joader.images import decode, image_shape, libraries
from tests.images.pictures import deep_color, encoded, noise, png


def test_16_bit_grey_keeps_its_high_byte() -> None:
    levels = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    image = decode(encoded(Image.fromarray(levels), "PNG"))
    assert image.shape == (256, 256, 3)
    assert np.array_equal(image, np.repeat((levels >> 8)[:, :, None], 3, axis=2))


def test_16_bit_color_keeps_its_high_byte_as_in_pillow() -> None:
    levels = np.random.default_rng(0).integers(0, 65536, (9, 5, 3)).astype(np.uint16)
    assert np.array_equal(decode(deep_color(levels)), levels >> 8)


@pytest.mark.parametrize("values", [np.zeros((4, 5), np.int32), np.zeros((4, 5), np.float32)])
def test_32_bit_levels_are_an_error(values: np.ndarray) -> None:  # type: ignore[type-arg]
    body = encoded(Image.fromarray(values), "TIFF")
    with pytest.raises(BadImage, match=r"32-bit levels .* save it with 8 or 16 bits"):
        decode(body)


def test_a_palette_with_alpha_is_decoded_without_a_warning() -> None:
    body = encoded(Image.fromarray(noise(4, 5)).convert("P"), "PNG", transparency=bytes(256))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(body).shape == (4, 5, 3)


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (2**31 - 1, 1)])
def test_a_decompression_bomb_is_an_error_before_it_is_decoded(width: int, height: int) -> None:
    body = png(width, height, 8, 2, b"")
    for look in (decode, image_shape):
        with pytest.raises(BadImage, match=r"decompression bomb .*MAX_IMAGE_PIXELS"):
            look(body)


def test_a_jpeg_that_claims_a_huge_size_is_an_error() -> None:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG")
    body = bytearray(file.getvalue())
    start = body.index(b"\xff\xc0") + 5  # height and width in the frame header
    body[start : start + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(BadImage, match="decompression bomb"):
        decode(bytes(body))


def test_sizes_that_pillow_warns_of_are_warned_of_for_jpeg_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("joader.images.jpeg._PLAIN_PIXELS", 100)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    body = encoded(Image.fromarray(noise(11, 11)), "JPEG")
    with pytest.warns(Image.DecompressionBombWarning):
        assert decode(body).shape == (11, 11, 3)


def test_without_pillow_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        return None

    monkeypatch.setattr(libraries, "_imported", absent)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[images\]'"):
        decode(encoded(Image.fromarray(noise(4, 5)), "PNG"))


def test_running_out_of_memory_is_not_the_image_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Image, "open", full)
    with pytest.raises(MemoryError):
        decode(b"\x89PNG")
