"""An encoded image becomes what Pillow makes of it, or an error that says what is wrong.

The fast road takes what is plain, gives what Pillow gives, and declines the rest.

Where Pillow's own conversion would lose the picture, and where it refuses.
"""

import io
import pickle
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from joader.errors import BadArgument, BadImage, MissingExtra
from joader.images import Decode, decode, decode_into, image_shape, libraries
from joader.images.body import body_of
from joader.images.decode import jpeg_pixels, jpeg_shape
from tests.images.pictures import (
    by_pillow,
    deep_color,
    encoded,
    every_kind,
    jpeg,
    noise,
    oriented,
    png,
    scene,
)

KINDS = every_kind()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_decoded_as_by_pillow(kind: str) -> None:
    image = Decode()(KINDS[kind])
    assert np.array_equal(image, by_pillow(KINDS[kind]))
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert image.flags.writeable


@pytest.mark.usefixtures("without_simplejpeg")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "JPEG" in kind])
def test_every_jpeg_is_the_same_without_simplejpeg(kind: str) -> None:
    assert np.array_equal(decode(KINDS[kind]), by_pillow(KINDS[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_header_gives_the_shape_and_the_buffer_is_written_in_place(kind: str) -> None:
    body = KINDS[kind]
    shape = image_shape(body)
    buffer = np.full(np.prod(shape) + 5, 7, np.uint8)
    image = decode_into(body, buffer)
    assert image.shape == shape
    assert np.shares_memory(image, buffer)
    assert np.array_equal(image, by_pillow(body))
    assert (buffer[-5:] == 7).all()  # not a byte more


def test_a_buffer_may_have_the_shape_of_the_image_or_be_any_writable_memory() -> None:
    body = jpeg(20, 30)
    for buffer in (np.empty((20, 30, 3), np.uint8), bytearray(1800), memoryview(bytearray(1900))):
        assert np.array_equal(decode_into(body, buffer), by_pillow(body))


@pytest.mark.parametrize(
    ("buffer", "said"),
    [
        (bytearray(1799), "of 1799 bytes; .* needs 1800 writable bytes"),
        (bytes(1800), "read-only"),
        (np.empty((20, 60, 3), np.uint8)[:, ::2], "C-contiguous"),
    ],
)
def test_a_buffer_that_cannot_hold_the_image_is_refused(buffer: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        decode_into(jpeg(20, 30), buffer)


def test_bytes_of_every_kind_and_paths_are_taken(tmp_path: Path) -> None:
    body = jpeg()
    path = tmp_path / "photo.jpg"
    path.write_bytes(body)
    padded = np.frombuffer(b"".join(bytes([byte, 0]) for byte in body), np.uint8)
    given = [bytearray(body), memoryview(body), np.frombuffer(body, np.uint8), padded[::2]]
    for image in (*given, path, str(path)):
        assert np.array_equal(decode(image), by_pillow(body))
        assert image_shape(image) == (45, 67, 3)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        decode(tmp_path / "none.jpg")


@pytest.mark.parametrize(
    "given", [7, None, noise(3, 4), np.zeros(3, np.int64), Image.new("L", (1, 1))]
)
def test_what_is_no_encoded_image_is_refused(given: Any) -> None:
    with pytest.raises(BadArgument, match=r"Decode\(\) got"):
        decode(given)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(10))
def test_the_orientation_is_left_alone_unless_asked_for(format: str, orientation: int) -> None:
    body = oriented(format, orientation)
    assert np.array_equal(decode(body), by_pillow(body))
    with Image.open(io.BytesIO(body)) as image:
        upright = np.asarray(ImageOps.exif_transpose(image))
    step = Decode(apply_exif_orientation=True)
    assert np.array_equal(step(body), upright)
    assert image_shape(body, apply_exif_orientation=True) == upright.shape
    out = bytearray(upright.size)
    assert np.array_equal(step(body, out=out), upright)
    assert out == upright.tobytes()


def test_an_image_without_orientation_stays_as_it_is_when_asked_for() -> None:
    assert np.array_equal(decode(jpeg(), apply_exif_orientation=True), by_pillow(jpeg()))


@pytest.mark.parametrize("kind", ["JPEG 4:2:0", "JPEG progressive", "PNG", "WebP lossy"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.99])
def test_an_image_cut_off_is_an_error(kind: str, share: float) -> None:
    body = KINDS[kind]
    cut = body[: int(len(body) * share)]
    with pytest.raises(
        BadImage, match=rf"the image of {len(cut):,} bytes cannot be decoded: .*out"
    ):
        decode(cut)


@pytest.mark.parametrize("missing", [1, 2, 3, 10])
def test_a_jpeg_without_its_last_bytes_is_an_error_as_in_pillow(missing: int) -> None:
    with pytest.raises(BadImage, match="truncated"):
        decode(jpeg()[:-missing])


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.jpg"
    path.write_bytes(jpeg()[:300])
    with pytest.raises(BadImage, match=r"the image of 300 bytes in .*cut\.jpg cannot be decoded"):
        decode(path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the image of 0 bytes cannot be decoded: it is empty"),
        (b"hello, world", "begins with 68 65 6c 6c 6f 2c 20 77, unlike any format"),
        (b"\xff\xd8\xff", "cannot be decoded"),
        (b"\0" * 1000, "begins with 00 00"),
    ],
)
def test_what_is_no_image_is_an_error(body: bytes, said: str) -> None:
    with pytest.raises(BadImage, match=said):
        decode(body)
    with pytest.raises(BadImage, match=said):
        image_shape(body)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_damaged_bytes_give_what_pillow_gives_or_an_error(kind: str, data: st.DataObject) -> None:
    body = bytearray(KINDS[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        image = decode(bytes(body))
    except BadImage:
        return
    assert np.array_equal(image, by_pillow(bytes(body)))


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(["JPEG", "PNG"]))
def test_images_of_every_size_are_decoded(height: int, width: int, format: str) -> None:
    body = encoded(scene(height, width), format)
    assert np.array_equal(decode(body), by_pillow(body))


def test_a_sample_keeps_its_other_items() -> None:
    body = jpeg()
    image, label = Decode()((body, 7))
    assert label == 7
    assert np.array_equal(image, by_pillow(body))
    sample = {"image": body, "name": "a"}
    assert Decode()(sample)["name"] == "a"
    assert sample["image"] is body


def test_the_step_is_a_value() -> None:
    step = Decode(apply_exif_orientation=True)
    assert pickle.loads(pickle.dumps(step)) == step
    assert repr(step) == "Decode(apply_exif_orientation=True)"
    assert hash(step) == hash(Decode(True))
    assert not step.random
    assert step.shape((1, 2, 3)) is None
    assert np.array_equal(step(jpeg(), random.Random(0)), by_pillow(jpeg()))


def test_there_is_no_batch_form() -> None:
    with pytest.raises(BadArgument, match="no batch form"):
        Decode().batch([jpeg()])


pytest.importorskip("simplejpeg")
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
    monkeypatch.setattr(sys.modules["joader.images.decode"], "_PLAIN_PIXELS", 100)
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
