"""What an image between two steps is, and what is none."""

from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.images.pixels import pixels, place, put
from tests.images.pictures import noise


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"abc", "got bytes"),
        (np.zeros((4, 5), np.uint8), r"of uint8 and shape \(4, 5\)"),
        (np.zeros((4, 5, 4), np.uint8), r"shape \(4, 5, 4\)"),
        (np.zeros((0, 5, 3), np.uint8), r"shape \(0, 5, 3\)"),
        (np.zeros((4, 5, 3), np.float32), "of float32"),
    ],
)
def test_what_is_no_image_is_refused_and_described(given: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=f"Resize takes an image as .*{said}.*Decode"):
        pixels(given, "Resize")


def test_a_strided_image_is_made_contiguous() -> None:
    image = noise(4, 5)[:, ::-1]
    assert pixels(image, "").flags.c_contiguous
    assert np.array_equal(pixels(image, ""), image)


def test_without_a_buffer_there_is_a_new_array_and_an_image_stays_where_it_is() -> None:
    assert place(None, (2, 3, 3)).shape == (2, 3, 3)
    image = noise(2, 3)
    assert put(image, None) is image


def test_floats_are_put_into_a_buffer_too() -> None:
    buffer = bytearray(48)
    result = put(np.arange(12, dtype=np.float32).reshape(3, 2, 2), buffer)
    assert result.dtype == np.float32
    assert np.frombuffer(buffer, np.float32).tolist() == list(range(12))
