"""A flip is a mirror image, with the probability asked for."""

import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from joader.errors import BadArgument
from joader.images import RandomHorizontalFlip
from joader.images.flip import flipped
from tests.images.pictures import noise

# Each statistical test fails a right implementation once in a million seeds; the seeds are fixed.
ONCE_IN_A_MILLION = 1e-6


@pytest.mark.parametrize("road", ["as installed", "without torch"])
@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 20))
def test_left_becomes_right(road: str, height: int, width: int) -> None:
    image = noise(height, width)
    image.flags.writeable = False
    with pytest.MonkeyPatch.context() as patch:
        if road == "without torch":
            patch.setattr("joader.images.libraries.loaded_torch", lambda: None)
        result = flipped(image)
        assert np.array_equal(result, image[:, ::-1])
        assert result.flags.c_contiguous
        out = bytearray(image.size)
        assert np.array_equal(flipped(image, out), result)
        assert bytes(out) == result.tobytes()


def test_one_and_zero_are_always_and_never() -> None:
    image, rng = noise(3, 4), random.Random(0)
    for _ in range(20):
        assert np.array_equal(RandomHorizontalFlip(1)(image, rng), image[:, ::-1])
        assert RandomHorizontalFlip(0)(image, rng) is image


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_samples_are_flipped_with_the_probability_asked_for(p: float) -> None:
    image, rng, step = noise(2, 3), random.Random(1), RandomHorizontalFlip(p)
    flips = sum(not np.array_equal(step(image, rng), image) for _ in range(5000))
    assert binomtest(flips, 5000, p).pvalue > ONCE_IN_A_MILLION


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_images_of_a_batch_are_flipped_each_by_itself(p: float, torch: Any) -> None:
    images = torch.from_numpy(np.stack([noise(2, 3)] * 5000))
    result = RandomHorizontalFlip(p).batch(images, torch.Generator().manual_seed(1))
    kept = (result == images).flatten(1).all(1)
    mirrored = (result == images.flip(2)).flatten(1).all(1)
    assert (kept ^ mirrored).all()
    assert binomtest(int(mirrored.sum()), 5000, p).pvalue > ONCE_IN_A_MILLION


def test_a_batch_of_floats_is_flipped_too(torch: Any) -> None:
    images = torch.rand(2, 3, 4, 5)
    assert torch.equal(RandomHorizontalFlip(1).batch(images), images.flip(3))


def test_the_same_seed_gives_the_same_flips(torch: Any) -> None:
    images = torch.from_numpy(np.stack([noise(2, 3)] * 50))
    runs = [
        RandomHorizontalFlip().batch(images, torch.Generator().manual_seed(seed))
        for seed in (3, 3, 4)
    ]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_the_step_is_a_value_and_asks_for_its_randomness() -> None:
    step = RandomHorizontalFlip(0.3)
    assert pickle.loads(pickle.dumps(step)) == step
    assert repr(step) == "RandomHorizontalFlip(p=0.3)"
    assert step.random
    assert step.shape((4, 5, 3)) == (4, 5, 3)
    with pytest.raises(
        BadArgument, match=r"draws at random .*step\(sample, random.Random\(seed\)\)"
    ):
        step(noise(3, 4))
    with pytest.raises(BadArgument, match="must be a probability"):
        RandomHorizontalFlip(1.5)
