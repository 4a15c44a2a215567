"""Levels become floats with channels first, then normalised ones."""

import pickle
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, MissingExtra
from joader.images import Normalize, ToTensor
from tests.images.pictures import noise

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def reference(image: Any) -> Any:
    return (image.transpose(2, 0, 1) / 255).astype(np.float32)


def test_levels_become_floats_from_0_to_1_with_channels_first() -> None:
    image = noise(4, 5)
    image.flags.writeable = False
    result = ToTensor("numpy")(image)
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.float32
    assert result.flags.c_contiguous
    assert np.allclose(result, reference(image), atol=1e-7)
    assert result.shape == ToTensor().shape(image.shape)
    assert ToTensor().shape(None) is None


@pytest.mark.usefixtures("without_torch")
def test_without_torch_the_result_is_an_array() -> None:
    assert isinstance(ToTensor()(noise(4, 5)), np.ndarray)
    with pytest.raises(MissingExtra, match=r"\.\[torch\]"):
        ToTensor("torch")(noise(4, 5))


def test_where_torch_is_installed_the_result_is_a_tensor(torch: Any) -> None:
    image = noise(4, 5)
    for library in (None, "torch"):
        result, label = ToTensor(library)((image, 1))
        assert isinstance(result, torch.Tensor)
        assert np.allclose(result.numpy(), reference(image), atol=1e-7)
        assert label == 1


def test_a_batch_becomes_floats_with_channels_first(torch: Any) -> None:
    images = np.stack([noise(4, 5, seed) for seed in range(3)])
    result = ToTensor().batch(torch.from_numpy(images))
    assert result.is_contiguous()
    assert np.allclose(result.numpy(), np.stack([reference(image) for image in images]))
    with pytest.raises(BadArgument, match="takes uint8 levels"):
        ToTensor().batch(result)


def test_arrays_and_tensors_are_normalised_by_channel() -> None:
    floats = reference(noise(4, 5))
    before = floats.copy()
    wanted = (floats - np.reshape(MEAN, (3, 1, 1))) / np.reshape(STD, (3, 1, 1))
    result = Normalize(MEAN, STD)(floats)
    assert result.dtype == np.float32
    assert np.allclose(result, wanted, atol=1e-6)
    assert np.array_equal(floats, before)


def test_tensors_and_batches_are_normalised_by_channel(torch: Any) -> None:
    floats = torch.from_numpy(np.stack([reference(noise(4, 5, seed)) for seed in range(3)]))
    before = floats.clone()
    step = Normalize(MEAN, STD)
    wanted = torch.from_numpy(np.stack([step(each) for each in floats.numpy()]))
    assert torch.allclose(step.batch(floats), wanted, atol=1e-6)
    assert torch.allclose(step(floats[0]), wanted[0], atol=1e-6)
    assert torch.equal(floats, before)
    half = step.batch(floats.half())
    assert half.dtype == torch.float16


def test_results_go_into_the_buffer_given(torch: Any) -> None:
    image = noise(4, 5)
    out = bytearray(240)
    floats = ToTensor("numpy")(image, out=out)
    assert bytes(out) == floats.tobytes()
    normal = bytearray(240)
    Normalize(MEAN, STD)(floats, out=normal)
    as_tensor = bytearray(240)
    result = Normalize(MEAN, STD)(torch.from_numpy(floats.copy()), out=as_tensor)
    assert np.allclose(np.frombuffer(normal, np.float32), np.frombuffer(as_tensor, np.float32))
    assert result.shape == (3, 4, 5)


@pytest.mark.parametrize("image", [noise(4, 5), b"abc", np.zeros((2, 2), np.float32)])
def test_levels_are_not_normalised(image: Any) -> None:
    with pytest.raises(BadArgument, match=r"takes an image of floats.*put ToTensor\(\) before"):
        Normalize(MEAN, STD)(image)


def test_a_batch_of_levels_is_not_normalised(torch: Any) -> None:
    with pytest.raises(BadArgument, match=r"put ToTensor\(\) before"):
        Normalize(MEAN, STD).batch(torch.from_numpy(noise(4, 5)[None]))


def test_steps_are_values() -> None:
    step = Normalize([0, 0.5, 1], [1, 1, 2])
    assert repr(step) == "Normalize(mean=(0.0, 0.5, 1.0), std=(1.0, 1.0, 2.0))"
    for each in (step, ToTensor(), ToTensor("numpy")):
        assert pickle.loads(pickle.dumps(each)) == each
        assert not each.random
        assert each.dtype == "float32"


def test_one_number_is_for_each_channel() -> None:
    assert Normalize(0.5, 1) == Normalize((0.5, 0.5, 0.5), (1, 1, 1))
    with pytest.raises(BadArgument, match=r"mean is \(0.5,\); give one value for each of 3"):
        Normalize((0.5,), (0.5,))


@pytest.mark.parametrize(
    "arguments", [((0, 0), (1, 1, 1)), ((0, 0, 0), (1, 1)), ((0, 0, 0), (1, 0, 1))]
)
def test_values_that_do_not_fit_are_refused(arguments: Any) -> None:
    with pytest.raises(BadArgument):
        Normalize(*arguments)
    with pytest.raises(BadArgument, match="library is"):
        ToTensor("jax")  # type: ignore[arg-type]
