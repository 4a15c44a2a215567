"""Steps on a batch: images first or by name, labels pass, layouts by type."""

import pickle
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, MissingExtra
from joader.images import (
    Batch,
    CenterCrop,
    ColorJitter,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ShorterSide,
    Steps,
    ToTensor,
)
from tests.images.pictures import noise

TRAINING = Batch(
    [
        RandomResizedCrop(16),
        RandomHorizontalFlip(),
        ColorJitter(0.4, 0.4, 0.4, 0.1),
        ToTensor(),
        Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)
ALL = [*TRAINING.steps, Resize(3, 4), ShorterSide(5), CenterCrop(6)]


def levels(torch: Any, count: int = 6) -> Any:
    return torch.from_numpy(np.stack([noise(20, 24, seed) for seed in range(count)]))


def test_a_training_batch_is_ready_for_a_model(torch: Any) -> None:
    images, labels = levels(torch), torch.arange(6)
    before = images.clone()
    result, given = TRAINING((images, labels))
    assert result.shape == (6, 3, 16, 16)
    assert result.dtype == torch.float32
    assert result.is_contiguous()
    assert given is labels
    assert torch.equal(images, before)
    named = TRAINING({"image": images, "label": labels})
    assert named["image"].shape == (6, 3, 16, 16)
    assert named["label"] is labels


def test_the_same_seed_gives_the_same_batch(torch: Any) -> None:
    images = levels(torch)
    one, other, third = (
        TRAINING(images, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_without_a_generator_torch_s_own_is_used(torch: Any) -> None:
    images = levels(torch)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        one = TRAINING(images)
        torch.manual_seed(7)
        assert torch.equal(TRAINING(images), one)


def test_equal_images_come_out_different(torch: Any) -> None:
    images = levels(torch, 1).expand(8, -1, -1, -1)
    result = TRAINING(images)
    assert len({each.numpy().tobytes() for each in result}) == 8


def test_a_row_of_steps_is_a_step(torch: Any) -> None:
    images = levels(torch)
    one, other = (
        steps(images, torch.Generator().manual_seed(1))
        for steps in (TRAINING, Batch([Steps(TRAINING.steps[:2]), *TRAINING.steps[2:]]))
    )
    assert torch.equal(one, other)


def test_a_function_gets_the_whole_batch(torch: Any) -> None:
    steps = Batch([ToTensor(), lambda batch: (batch[0] * 0, batch[1])])
    result, labels = steps((levels(torch), "labels"))
    assert not result.any()
    assert labels == "labels"


@pytest.mark.parametrize("step", ALL, ids=lambda step: type(step).__name__)
def test_a_batch_in_another_layout_is_refused(step: Any, torch: Any) -> None:
    for wrong in (
        levels(torch).permute(0, 3, 1, 2),  # uint8 with channels first
        levels(torch)[0],
        torch.rand(2, 20, 24, 3),
        levels(torch).numpy(),
        levels(torch).int(),
    ):
        with pytest.raises(BadArgument, match=r"takes a batch as a torch tensor.*permute"):
            step.batch(wrong)


@pytest.mark.parametrize("step", ALL, ids=lambda step: type(step).__name__)
def test_an_empty_batch_stays_empty(step: Any, torch: Any) -> None:
    images = torch.empty(0, 20, 24, 3, dtype=torch.uint8)
    given = images.permute(0, 3, 1, 2).float() if isinstance(step, Normalize) else images
    assert len(step.batch(given)) == 0


@pytest.mark.usefixtures("without_torch")
def test_without_torch_there_are_no_batch_steps() -> None:
    with pytest.raises(MissingExtra, match="a batch step needs torch"):
        TRAINING(noise(2, 3))


def test_a_batch_transform_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(TRAINING)) == TRAINING
    assert repr(Batch([ToTensor()])) == "Batch(steps=(ToTensor(library=None),))"
    with pytest.raises(BadArgument, match="7 cannot be called"):
        Batch([7])  # type: ignore[list-item]


def test_a_gpu_gives_what_a_cpu_gives(torch: Any) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    images = levels(torch, 64)
    seeds = [torch.Generator().manual_seed(1) for _ in range(2)]
    steps = Batch(TRAINING.steps[:3])
    here = steps(images, seeds[0])
    there = steps(images.cuda(), seeds[1]).cpu()
    # A level that rounding decides may be amplified by the operations that follow.
    assert int((here.int() - there.int()).abs().max()) <= 8
    assert float((here.int() - there.int()).abs().float().mean()) < 0.3
    own = torch.Generator("cuda").manual_seed(1)
    assert TRAINING(images.cuda(), own).is_cuda
    assert TRAINING(images.cuda()).is_cuda
