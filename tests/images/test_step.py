"""What all steps have in common."""

import inspect
import random
from typing import Any

import numpy as np
import pytest

from joader import images
from joader.errors import BadArgument
from joader.images import Step
from tests.images.pictures import noise

MADE = {
    "CenterCrop": images.CenterCrop(7),
    "ColorJitter": images.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "RandomHorizontalFlip": images.RandomHorizontalFlip(1),
    "RandomResizedCrop": images.RandomResizedCrop(7),
    "Resize": images.Resize(7, 8),
    "ShorterSide": images.ShorterSide(7),
    "ToTensor": images.ToTensor("numpy"),
}


def test_every_step_on_images_is_tested_here() -> None:
    steps = {
        name
        for name in images.__all__
        if inspect.isclass(getattr(images, name)) and issubclass(getattr(images, name), Step)
    }
    assert steps == {*MADE, "Decode", "Normalize", "Step"}


@pytest.mark.parametrize("name", MADE)
def test_a_step_tells_shape_and_type_and_keeps_its_input(name: str) -> None:
    step, image = MADE[name], noise(10, 12)
    before = image.copy()
    image.flags.writeable = False
    result = step({"image": image, "label": 1}, random.Random(0))
    assert result["label"] == 1
    assert result["image"].shape == step.shape(image.shape)
    assert result["image"].dtype == step.dtype
    assert result["image"].flags.c_contiguous
    assert np.array_equal(image, before)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("wrong", [b"bytes", np.zeros((4, 5), np.uint8)])
def test_a_step_refuses_what_is_no_image(name: str, wrong: Any) -> None:
    with pytest.raises(BadArgument, match=name):
        MADE[name](wrong, random.Random(0))


@pytest.mark.parametrize("name", MADE)
def test_an_image_of_one_pixel_is_an_image(name: str) -> None:
    step = MADE[name]
    assert step(noise(1, 1), random.Random(0)).shape == step.shape((1, 1, 3))


def test_a_step_without_its_half_is_none() -> None:
    with pytest.raises(NotImplementedError):
        Step()(noise(1, 1))


def test_every_exported_name_exists() -> None:
    assert [name for name in images.__all__ if not hasattr(images, name)] == []
