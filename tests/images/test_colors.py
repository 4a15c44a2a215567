"""Colours change as torchvision's formulas say, for levels and for floats.

The references blend in double precision; hue is Python's own `colorsys`, pixel by pixel.
"""

import colorsys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.images.colors import blend, grey, turn_hue
from tests.images.pictures import Pixels, noise

FACTORS = st.floats(0, 3)
TURNS = st.floats(-0.5, 0.5)


def planes_of(image: Pixels) -> Any:
    return np.ascontiguousarray(image.transpose(2, 0, 1)).astype(np.float32)


def reference_grey(image: Pixels) -> Any:
    # In single precision, as torchvision: a level cut the other way would tell, times a factor.
    red, green, blue = image.astype(np.float32).transpose(2, 0, 1)
    return np.floor(red * 0.2989 + green * 0.587 + blue * 0.114).astype(np.float64)


def reference_blend(image: Pixels, other: Any, factor: float) -> Any:
    mixed = factor * image.astype(np.float64) + (1 - factor) * other
    return np.floor(np.clip(mixed, 0, 255))


def reference_hue(image: Pixels, turn: float) -> Any:
    result = np.empty(image.shape)
    for place in np.ndindex(image.shape[:2]):
        hue, saturation, value = colorsys.rgb_to_hsv(*(image[place] / 255))
        result[place] = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
    return np.floor(result * 255.999)


def assert_close(planes: Any, wanted: Any) -> None:
    """Within one level: where a result is a whole number, rounding decides which side it is cut."""
    assert np.abs(planes.transpose(1, 2, 0) - wanted).max() <= 1


def plain_colors() -> Pixels:
    """Greys, pure and mixed colours, all levels' ends: where hue has its seams."""
    ends = np.array([0, 1, 127, 128, 254, 255], np.uint8)
    return np.stack(np.meshgrid(ends, ends, ends), -1).reshape(6, 36, 3)


@pytest.mark.parametrize("image", [noise(9, 11), plain_colors()], ids=["noise", "plain"])
@settings(deadline=None)
@given(FACTORS)
def test_brightness_blends_with_black(image: Pixels, factor: float) -> None:
    planes = planes_of(image)
    blend(np, planes, 0, factor, 255, whole=True)
    assert_close(planes, reference_blend(image, 0, factor))


@pytest.mark.parametrize("image", [noise(9, 11), plain_colors()], ids=["noise", "plain"])
@settings(deadline=None)
@given(FACTORS)
def test_contrast_blends_with_the_mean_grey(image: Pixels, factor: float) -> None:
    planes = planes_of(image)
    blend(np, planes, float(grey(np, planes, whole=True).mean()), factor, 255, whole=True)
    assert_close(planes, reference_blend(image, reference_grey(image).mean(), factor))


@pytest.mark.parametrize("image", [noise(9, 11), plain_colors()], ids=["noise", "plain"])
@settings(deadline=None)
@given(FACTORS)
def test_saturation_blends_with_grey(image: Pixels, factor: float) -> None:
    planes = planes_of(image)
    blend(np, planes, grey(np, planes, whole=True), factor, 255, whole=True)
    assert_close(planes, reference_blend(image, reference_grey(image)[:, :, None], factor))


@pytest.mark.parametrize("image", [noise(9, 11), plain_colors()], ids=["noise", "plain"])
@settings(deadline=None)
@given(TURNS)
def test_hue_is_turned_in_hsv(image: Pixels, turn: float) -> None:
    planes = planes_of(image)
    turn_hue(np, planes, turn, 255, whole=True)
    assert_close(planes, reference_hue(image, turn))


def test_nearly_all_levels_are_equal() -> None:
    image = noise(60, 70)
    level = reference_grey(image)
    for change, wanted in (
        (lambda p: blend(np, p, 0, 1.37, 255, True), reference_blend(image, 0, 1.37)),
        (
            lambda p: blend(np, p, grey(np, p, True), 0.63, 255, True),
            reference_blend(image, level[:, :, None], 0.63),
        ),
        (lambda p: turn_hue(np, p, 0.21, 255, True), reference_hue(image, 0.21)),
    ):
        planes = planes_of(image)
        change(planes)
        assert (planes.transpose(1, 2, 0) != wanted).mean() < 0.003


def test_a_hue_turned_by_nothing_stays_and_by_a_half_is_the_opposite() -> None:
    planes = planes_of(plain_colors())
    turn_hue(np, planes, 0.0, 255, whole=True)
    assert np.array_equal(planes, planes_of(plain_colors()))
    red = planes_of(np.array([[[200, 0, 0]]], np.uint8))
    turn_hue(np, red, 0.5, 255, whole=True)
    assert red.reshape(3).tolist() == [0, 200, 200]


@settings(deadline=None)
@given(TURNS, FACTORS)
def test_floats_are_not_cut_to_whole_numbers(turn: float, factor: float) -> None:
    image = noise(5, 6)
    planes = planes_of(image) / np.float32(255)
    turn_hue(np, planes, turn, 1, whole=False)
    wanted = reference_hue(image, turn) / 255
    assert np.abs(planes.transpose(1, 2, 0) - wanted).max() < 1.1 / 255
    blend(np, planes, 0, factor, 1, whole=False)
    assert planes.max() <= 1


def test_torch_gives_what_numpy_gives(torch: Any) -> None:
    image = noise(20, 30)
    by_numpy = planes_of(image)
    by_torch = torch.from_numpy(planes_of(image))
    for xp, planes in ((np, by_numpy), (torch, by_torch)):
        turn_hue(xp, planes, 0.2, 255, whole=True)
        blend(xp, planes, grey(xp, planes, whole=True), 1.4, 255, whole=True)
        blend(xp, planes, 0, 0.7, 255, whole=True)
    assert np.abs(by_numpy - by_torch.numpy()).max() <= 1
    assert (by_numpy != by_torch.numpy()).mean() < 0.01
