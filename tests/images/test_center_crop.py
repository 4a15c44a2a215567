"""The middle of an image, black where there is none."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.errors import BadArgument
from joader.images import CenterCrop
from tests.images.pictures import noise

SIDES = st.integers(1, 12)


@settings(deadline=None)
@given(SIDES, SIDES, SIDES, SIDES)
def test_the_crop_is_the_middle_of_the_image_with_black_around_it(
    height: int, width: int, new_height: int, new_width: int
) -> None:
    image = noise(height, width)
    result = CenterCrop(new_height, new_width)(image)
    assert result.shape == CenterCrop(new_height, new_width).shape(image.shape)
    assert result.flags.c_contiguous
    # Pixel by pixel: torchvision fills up first, half of it (cut) before, then cuts.
    above = max(0, new_height - height) // 2
    before = max(0, new_width - width) // 2
    top = round(max(0, height - new_height) / 2)
    left = round(max(0, width - new_width) / 2)
    for row in range(new_height):
        for column in range(new_width):
            y, x = row - above + top, column - before + left
            inside = 0 <= y < height and 0 <= x < width
            assert (result[row, column] == (image[y, x] if inside else 0)).all()


def test_one_number_is_a_square() -> None:
    assert CenterCrop(5) == CenterCrop(5, 5)
    assert repr(CenterCrop(5)) == "CenterCrop(height=5, width=5)"
    assert pickle.loads(pickle.dumps(CenterCrop(5))) == CenterCrop(5)
    assert not CenterCrop(5).random


@pytest.mark.parametrize("size", [(4, 5), (20, 20), (30, 3)])
def test_a_crop_goes_into_the_buffer_given(size: tuple[int, int]) -> None:
    image = noise(20, 20)
    image.flags.writeable = False
    out = bytearray(size[0] * size[1] * 3)
    result = CenterCrop(*size)(image, out=out)
    assert bytes(out) == result.tobytes() == CenterCrop(*size)(image).tobytes()


@pytest.mark.parametrize("size", [(4, 5), (20, 21), (30, 3), (31, 33)])
def test_a_batch_is_cropped_as_its_images_are(size: tuple[int, int], torch: Any) -> None:
    images = np.stack([noise(20, 21, seed) for seed in range(3)])
    step = CenterCrop(*size)
    wanted = np.stack([step(image) for image in images])
    assert np.array_equal(step.batch(torch.from_numpy(images)).numpy(), wanted)
    floats = step.batch(torch.from_numpy(images).permute(0, 3, 1, 2) / 255)
    assert np.array_equal((floats * 255).round().permute(0, 2, 3, 1).numpy(), wanted)


def test_a_size_that_is_none_is_refused() -> None:
    with pytest.raises(BadArgument, match="at least 1"):
        CenterCrop(-3)
