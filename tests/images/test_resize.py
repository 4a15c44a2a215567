"""Sizes come out as asked, levels as Pillow's BILINEAR within one."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from joader.errors import BadArgument, BadImage
from joader.images import Resize, ShorterSide
from tests.images.pictures import Pixels, noise

SIDES = st.integers(1, 40) | st.sampled_from([97, 128, 301])


def by_pillow(image: Pixels, height: int, width: int) -> Pixels:
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))


def levels_apart(one: Any, other: Any) -> int:
    assert one.shape == other.shape
    return int(np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int)).max())


@settings(deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 9))
def test_a_resized_image_is_pillow_s_within_one_level(
    height: int, width: int, new_height: int, new_width: int, seed: int
) -> None:
    image = noise(height, width, seed)
    result = Resize(new_height, new_width)(image)
    assert levels_apart(result, by_pillow(image, new_height, new_width)) <= 1
    assert result.dtype == np.uint8
    assert result.flags.c_contiguous
    assert result.shape == Resize(new_height, new_width).shape(None)


@pytest.mark.usefixtures("without_torch")
def test_without_torch_it_is_pillow_s_result() -> None:
    image = noise(50, 70)
    assert np.array_equal(Resize(20, 90)(image), by_pillow(image, 20, 90))


@pytest.mark.parametrize(
    ("size", "shape", "result"),
    [
        (256, (375, 500), (256, 341)),  # 341.33
        (256, (500, 375), (341, 256)),
        (10, (10, 10), (10, 10)),
        (5, (1, 300), (5, 1500)),
        (7, (3, 2), (10, 7)),  # 10.5 is cut, not rounded
    ],
)
def test_the_shorter_side_is_as_asked_and_the_longer_in_proportion(
    size: int, shape: tuple[int, int], result: tuple[int, int]
) -> None:
    step = ShorterSide(size)
    image = noise(*shape)
    assert step.shape((*shape, 3)) == (*result, 3)
    assert step.shape(None) is None
    assert levels_apart(step(image), by_pillow(image, *result)) <= 1


def test_a_thin_strip_is_not_blown_up() -> None:
    with pytest.raises(
        BadImage, match=r"1 x 60000 pixels would make 240,000,000,000, .* crop it first"
    ):
        ShorterSide(2000)(np.zeros((1, 60_000, 3), np.uint8))


def test_a_result_goes_into_the_buffer_given() -> None:
    image = noise(30, 20)
    for step in (Resize(10, 15), ShorterSide(10), Resize(30, 20)):
        shape = step.shape(image.shape)
        assert shape is not None
        out = np.zeros(np.prod(shape), np.uint8)
        result = step(image, out=out)
        assert np.shares_memory(result, out)
        assert np.array_equal(result, step(image))


def test_a_read_only_input_is_left_as_it_is() -> None:
    image = noise(30, 20)
    before = image.copy()
    image.flags.writeable = False
    Resize(10, 15)((image, 1))
    assert np.array_equal(image, before)


def test_the_same_size_changes_nothing() -> None:
    image = noise(30, 20)
    assert np.array_equal(Resize(30, 20)(image), image)


@pytest.mark.parametrize("sizes", [(0, 1), (1, -1), (2.0, 2), ((3, 4), 5)])
def test_sizes_that_are_none_are_refused(sizes: Any) -> None:
    with pytest.raises(BadArgument, match="sizes must be integers of at least 1"):
        Resize(*sizes)
    with pytest.raises(BadArgument, match="at least 1"):
        ShorterSide(0)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (256, r"Resize\(256\) has no width; use ShorterSide\(256\).* or Resize\(256, 256\)"),
        ((224, 224), r"height is \(224, 224\); give height and width as two numbers"),
    ],
)
def test_what_torchvision_s_users_write_is_told_what_to_write_here(size: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        Resize(size)


def test_steps_are_values() -> None:
    for step, shown in (
        (Resize(2, 3), "Resize(height=2, width=3)"),
        (ShorterSide(4), "ShorterSide(size=4)"),
    ):
        assert repr(step) == shown
        assert pickle.loads(pickle.dumps(step)) == step
        assert not step.random


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_a_batch_is_resized_as_its_images_are(
    height: int, width: int, new_height: int, new_width: int
) -> None:
    torch = pytest.importorskip("torch")
    images = np.stack([noise(height, width, seed) for seed in range(3)])
    step = Resize(new_height, new_width)
    result = step.batch(torch.from_numpy(images))
    assert result.is_contiguous()
    assert np.array_equal(result.numpy(), np.stack([step(image) for image in images]))


def test_a_batch_keeps_its_labels_and_its_proportions(torch: Any) -> None:
    images = torch.from_numpy(np.stack([noise(30, 40)] * 2))
    result, labels = ShorterSide(15).batch((images, [1, 2]))
    assert result.shape == (2, 15, 20, 3)
    assert labels == [1, 2]


def test_a_batch_of_floats_is_resized_with_channels_first(torch: Any) -> None:
    images = torch.rand(2, 3, 30, 40)
    result = Resize(10, 20).batch(images)
    wanted = torch.nn.functional.interpolate(images, (10, 20), mode="bilinear", antialias=True)
    assert torch.allclose(result, wanted, atol=1e-6)
