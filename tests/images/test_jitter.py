"""Factors and orders of the jitter are distributed as torchvision's, on samples and in batches.

Each statistical test fails a right implementation once in a million seeds; the seeds are fixed.
"""

import pickle
import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from joader.errors import BadArgument
from joader.images import ColorJitter
from joader.images.colors import BRIGHTNESS, CONTRAST, HUE, SATURATION
from joader.images.jitter import _all_at_once, _one_by_one
from tests.images.pictures import noise
from tests.images.test_colors import reference_blend, reference_grey, reference_hue

ONCE_IN_A_MILLION = 1e-6


def reference_change(image: Any, operation: int, factor: float) -> Any:
    image = image.astype(np.uint8)
    if operation == HUE:
        return reference_hue(image, factor)
    others = {
        BRIGHTNESS: 0,
        CONTRAST: reference_grey(image).mean(),
        SATURATION: reference_grey(image)[:, :, None],
    }
    return reference_blend(image, others[operation], factor)


@pytest.mark.parametrize(
    ("given", "ranges"),
    [
        ((0.4, 0.3, 0.2, 0.1), [(0.6, 1.4), (0.7, 1.3), (0.8, 1.2), (-0.1, 0.1)]),
        ((2, 0, None, 0.5), [(0, 3), None, None, (-0.5, 0.5)]),
        (((0.5, 0.9), (1, 2), (0, 0), (-0.2, 0)), [(0.5, 0.9), (1, 2), (0, 0), (-0.2, 0)]),
        (((1, 1), None, None, (0, 0)), [None, None, None, None]),
    ],
)
def test_a_number_is_a_range_around_what_changes_nothing(given: Any, ranges: Any) -> None:
    step = ColorJitter(*given)
    for found, wanted in zip(
        (step.brightness, step.contrast, step.saturation, step.hue), ranges, strict=True
    ):
        assert found == (None if wanted is None else pytest.approx(wanted))
    assert ColorJitter(*ranges).ranges.keys() == step.ranges.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        {"brightness": -0.1},
        {"contrast": (0.5, 0.4)},
        {"saturation": (-1, 1)},
        {"hue": 0.6},
        {"hue": -0.1},
        {"hue": (-0.6, 0)},
    ],
)
def test_what_is_no_range_is_refused(arguments: Any) -> None:
    with pytest.raises(BadArgument, match=r"gives factors from .* so that they lie between"):
        ColorJitter(**arguments)


def test_factors_are_uniform_and_orders_too() -> None:
    step, rng = ColorJitter(0.4, (0.5, 2), 2, 0.3), random.Random(1)
    drawn = [step.draw(rng) for _ in range(6000)]
    for operation, (low, high) in step.ranges.items():
        factors = [dict(each)[operation] for each in drawn]
        uniform = kstest(factors, "uniform", (low, high - low))
        assert uniform.pvalue > ONCE_IN_A_MILLION
    orders = [tuple(operation for operation, _ in each) for each in drawn]
    counts = [orders.count(order) for order in permutations(range(4))]
    assert sum(counts) == 6000
    assert chisquare(counts).pvalue > ONCE_IN_A_MILLION


def test_only_what_is_asked_for_is_drawn() -> None:
    rng = random.Random(1)
    drawn = [ColorJitter(contrast=0.5, hue=0.1).draw(rng) for _ in range(20)]
    assert all({operation for operation, _ in each} == {CONTRAST, HUE} for each in drawn)


def test_a_sample_is_changed_as_drawn() -> None:
    step, image = ColorJitter(0.4, 0.4, 0.4, 0.2), noise(9, 11)
    image.flags.writeable = False
    for seed in range(20):
        wanted = image
        for operation, factor in step.draw(random.Random(seed)):
            wanted = reference_change(wanted, operation, factor)
        result, label = step((image, 3), random.Random(seed))
        assert label == 3
        assert result.dtype == np.uint8
        # A level that rounding decides may be amplified by the operations that follow.
        assert np.abs(result - wanted).max() <= 4
        assert (result != wanted).mean() < 0.1
        out = bytearray(image.size)
        step(image, random.Random(seed), out=out)
        assert bytes(out) == result.tobytes()


def test_a_step_that_changes_nothing_gives_the_same_levels() -> None:
    image = noise(4, 5)
    assert np.array_equal(ColorJitter()(image, random.Random(0)), image)


def fixed(operations: Any) -> ColorJitter:
    """A jitter whose factors are known, so that only the order is drawn."""
    factors = {BRIGHTNESS: 1.7, CONTRAST: 0.4, SATURATION: 2.5, HUE: 0.3}
    names = ("brightness", "contrast", "saturation", "hue")
    return ColorJitter(**{names[each]: (factors[each], factors[each]) for each in operations})


@pytest.mark.parametrize(
    "operations", [range(4), (BRIGHTNESS, CONTRAST, SATURATION), (HUE, CONTRAST), (HUE,)]
)
def test_every_image_of_a_batch_has_an_order_of_its_own(operations: Any, torch: Any) -> None:
    count, image, step = 2400, noise(5, 6, seed=3), fixed(operations)
    batch = torch.from_numpy(np.stack([image] * count))
    results = step.batch(batch, torch.Generator().manual_seed(1)).numpy().astype(int)
    orders = list(permutations(operations))
    wanted = []
    for order in orders:
        changed: Any = image
        for operation in order:
            changed = reference_change(changed, operation, dict(step.ranges)[operation][0])
        wanted.append(changed)
    apart = np.abs(results[:, None] - np.stack(wanted)[None]).mean((2, 3, 4))
    assert apart.min(1).max() < 0.5  # each result is that of one of the orders …
    counts = np.bincount(apart.argmin(1), minlength=len(orders))
    if len(orders) > 1:
        assert np.abs(np.subtract.outer(wanted, wanted)).max() > 0
        assert chisquare(counts).pvalue > ONCE_IN_A_MILLION  # … and all are equally frequent


@pytest.mark.parametrize(
    ("name", "low", "high"), [("brightness", 0.2, 1.8), ("contrast", 0.2, 1.8)]
)
def test_factors_of_a_batch_are_uniform_and_each_image_has_its_own(
    name: str, low: float, high: float, torch: Any
) -> None:
    images = torch.full((4000, 3, 1, 2), 0.25)
    images[:, :, :, 1] = 0.5
    step = ColorJitter(**{name: 0.8})
    result = step.batch(images, torch.Generator().manual_seed(2))
    factors = (result[:, 0, 0, 1] - result[:, 0, 0, 0]) / 0.25
    assert kstest(factors.numpy(), "uniform", (low, high - low)).pvalue > ONCE_IN_A_MILLION


def test_turns_of_a_batch_are_uniform(torch: Any) -> None:
    images = torch.zeros(4000, 3, 1, 1)
    images[:, 0] = 1  # red; turned by a sixth at most, green or blue rises with the turn
    result = ColorJitter(hue=1 / 6).batch(images, torch.Generator().manual_seed(3))[:, :, 0, 0]
    turns = (result[:, 1] - result[:, 2]) / 6
    assert kstest(turns.numpy(), "uniform", (-1 / 6, 1 / 3)).pvalue > ONCE_IN_A_MILLION


def test_a_batch_of_levels_and_one_of_floats_are_changed_alike(torch: Any) -> None:
    levels = torch.from_numpy(np.stack([noise(9, 11, seed) for seed in range(8)]))
    before = levels.clone()
    floats = levels.permute(0, 3, 1, 2) / 255
    step = ColorJitter(0.4, 0.4, 0.4, 0.1)
    one = step.batch(levels, torch.Generator().manual_seed(4))
    other = step.batch(floats, torch.Generator().manual_seed(4))
    assert one.dtype == torch.uint8
    assert one.is_contiguous()
    assert other.is_contiguous()
    assert float((one - (other * 255).permute(0, 2, 3, 1)).abs().max()) < 6
    assert torch.equal(levels, before)
    assert float(floats.max()) <= 1


@pytest.mark.parametrize(
    "step",
    [
        ColorJitter(0.4, 0.4, 0.4, 0.1),
        ColorJitter(0.4, 0.4, 0.4),
        ColorJitter(saturation=0.5, hue=0.2),
        ColorJitter(hue=0.2),
        ColorJitter(),
    ],
)
@pytest.mark.parametrize("layout", ["levels", "floats"])
def test_all_images_at_once_are_changed_as_one_by_one(
    step: ColorJitter, layout: str, torch: Any
) -> None:
    images = torch.from_numpy(np.stack([noise(9, 11, seed) for seed in range(60)]))
    view = images.permute(0, 3, 1, 2)
    bound = 255
    if layout == "floats":
        images, bound = view / 255, 1
        view = images
    drawn = step.draw_batch(60, torch.Generator().manual_seed(5), images.device)
    one_by_one = _one_by_one(images, *drawn)
    at_once = _all_at_once(view, *drawn, HUE in step.ranges)
    assert at_once.dtype == images.dtype
    if layout == "levels":
        at_once = at_once.permute(0, 2, 3, 1)
    apart = (at_once.float() - one_by_one.float()).abs() / bound
    assert float(apart.max()) <= 4 / 255
    assert float((apart > 1e-4).float().mean()) < 0.02


def test_a_batch_that_nothing_changes_is_the_same(torch: Any) -> None:
    images = torch.from_numpy(noise(4, 5)[None])
    assert torch.equal(ColorJitter().batch(images), images)


def test_the_step_is_a_value() -> None:
    step = ColorJitter(0.5, hue=(0, 0.1))
    assert pickle.loads(pickle.dumps(step)) == step
    assert repr(step) == (
        "ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(0.0, 0.1))"
    )
    assert step.random
    assert hash(step) == hash(ColorJitter((0.5, 1.5), None, None, (0, 0.1)))
