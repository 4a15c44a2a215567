"""Two matrix products give what torch's own resize gives, for every crop, within one level."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.images import resampling
from tests.images.pictures import noise

torch = pytest.importorskip("torch")
interpolate = torch.nn.functional.interpolate
SIDES = st.integers(1, 40)


def drawn_boxes(height: int, width: int, count: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    heights, widths = rng.integers(1, height + 1, count), rng.integers(1, width + 1, count)
    tops, lefts = rng.integers(0, height - heights + 1), rng.integers(0, width - widths + 1)
    return torch.from_numpy(np.stack((tops, lefts, heights, widths), 1))


@settings(deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 9))
def test_products_are_torch_s_resize_of_each_crop_within_one_level(
    height: int, width: int, new_height: int, new_width: int, seed: int
) -> None:
    images = torch.from_numpy(np.stack([noise(height, width, n) for n in range(4)]))
    images = images.permute(0, 3, 1, 2)
    boxes = drawn_boxes(height, width, 4, seed)
    size = (new_height, new_width)
    results = resampling._by_products(images, boxes, size)
    assert results.dtype == torch.uint8
    for image, (top, left, tall, wide), result in zip(images, boxes.tolist(), results, strict=True):
        crop = image[None, :, top : top + tall, left : left + wide]
        wanted = interpolate(crop, size, mode="bilinear", antialias=True)[0]
        assert int((result.int() - wanted.int()).abs().max()) <= 1


@settings(max_examples=30, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 9))
def test_products_of_floats_are_torch_s_resize(
    height: int, width: int, new_height: int, new_width: int, seed: int
) -> None:
    images = torch.rand(3, 3, height, width, generator=torch.Generator().manual_seed(seed))
    boxes = drawn_boxes(height, width, 3, seed)
    size = (new_height, new_width)
    results = resampling.resampled(images, boxes, size)
    for image, (top, left, tall, wide), result in zip(images, boxes.tolist(), results, strict=True):
        crop = image[None, :, top : top + tall, left : left + wide]
        # With channels first torch 2.13 is wrong for a width of 1: (0, 1) to three gives (0, 0, 0).
        crop = crop.contiguous(memory_format=torch.channels_last)
        wanted = interpolate(crop, size, mode="bilinear", antialias=True)[0]
        assert torch.allclose(result, wanted, atol=1e-5)


def test_a_column_of_floats_is_resized() -> None:
    column = torch.tensor([0.0, 1.0]).view(1, 1, 2, 1).expand(1, 3, 2, 1)
    assert resampling.resampled(column, None, (3, 1))[0, 0, :, 0].tolist() == [0, 0.5, 1]


def test_weights_sum_to_one_and_stay_inside_the_crop() -> None:
    weights = resampling.triangles(torch.tensor([3, 0]), torch.tensor([5, 20]), 20, 7)
    assert weights.shape == (2, 7, 20)
    assert torch.allclose(weights.sum(2), torch.ones(2, 7))
    assert (weights >= 0).all()
    assert not weights[0, :, :3].any()
    assert not weights[0, :, 8:].any()


def test_without_boxes_all_of_an_image_is_taken() -> None:
    images = torch.rand(2, 3, 20, 30)
    whole = torch.tensor([[0, 0, 20, 30]] * 2)
    assert torch.allclose(
        resampling.resampled(images, None, (7, 8)), resampling.resampled(images, whole, (7, 8))
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("size", [(224, 224), (7, 300)])
def test_a_gpu_gives_the_same_within_one_level(size: tuple[int, int]) -> None:
    images = torch.from_numpy(np.stack([noise(256, 256, n) for n in range(16)]))
    images = images.permute(0, 3, 1, 2)
    boxes = drawn_boxes(256, 256, 16, 0)
    here = resampling.resampled(images, boxes, size)
    there = resampling.resampled(images.cuda(), boxes.cuda(), size).cpu()
    assert int((here.int() - there.int()).abs().max()) <= 1
