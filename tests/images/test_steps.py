"""Steps in a row are one step, and know what of them can be shared."""

import pickle
import random
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.images import (
    CenterCrop,
    Decode,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ShorterSide,
    Steps,
    ToTensor,
    apply,
    is_random,
    libraries,
)
from tests.images.pictures import jpeg, noise

SHARED = [Decode(), ShorterSide(16), CenterCrop(12)]
OWN = [RandomResizedCrop(8), RandomHorizontalFlip(), ToTensor("numpy")]


def darker(sample: Any) -> Any:
    image, *rest = sample
    return (image // 2, *rest)


def test_steps_are_applied_in_their_order() -> None:
    sample = (jpeg(), 5)
    image, label = Steps(SHARED)(sample)
    wanted = CenterCrop(12)(ShorterSide(16)(Decode()(jpeg())))
    assert np.array_equal(image, wanted)
    assert label == 5
    assert np.array_equal(apply(SHARED, sample)[0], wanted)


def test_the_same_generator_state_gives_the_same_sample() -> None:
    steps = Steps([*SHARED, *OWN])
    results = [steps(jpeg(), random.Random(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


def test_the_last_image_lies_in_the_buffer_and_no_other_does() -> None:
    for steps in (SHARED, SHARED[:1], [Decode(), Steps(SHARED[1:])]):
        out = np.zeros(45 * 67 * 3, np.uint8)
        image, label = apply(steps, (jpeg(), 5), out=out)
        assert np.shares_memory(image, out)
        assert label == 5
        assert np.array_equal(image, apply(steps, (jpeg(), 5))[0])
    out = np.zeros(45 * 67 * 3, np.uint8)
    image, _ = apply([Decode(), darker], (jpeg(), 5), out=out)
    assert np.shares_memory(image, out)


def test_the_shape_is_known_after_a_step_that_sets_it() -> None:
    assert Steps(SHARED[:2]).shape() is None
    assert Steps(SHARED).shape() == (12, 12, 3)
    assert Steps([*SHARED, *OWN]).shape() == (3, 8, 8)
    assert Steps([ShorterSide(10)]).shape((20, 40, 3)) == (10, 20, 3)
    assert Steps([Resize(4, 4), darker]).shape() is None
    assert Steps([Steps([Resize(4, 4)]), RandomHorizontalFlip()]).shape() == (4, 4, 3)
    assert Steps([darker, Resize(4, 4), RandomHorizontalFlip()]).shape() == (4, 4, 3)


def test_what_comes_before_the_first_random_step_can_be_shared() -> None:
    shared, own = Steps([*SHARED, *OWN]).split()
    assert shared == Steps(SHARED)
    assert own == Steps(OWN)
    assert not shared.random
    assert own.random
    assert Steps(SHARED).split() == (Steps(SHARED), Steps([]))


def test_a_function_counts_as_random_since_nobody_knows() -> None:
    assert is_random(darker)
    assert Steps([Decode(), darker, Resize(2, 2)]).split()[0] == Steps([Decode()])
    assert not is_random(Resize(2, 2))


def test_steps_are_a_value() -> None:
    steps = Steps([*SHARED, darker, Normalize((0, 0, 0), (1, 1, 1))])
    assert pickle.loads(pickle.dumps(steps)) == steps
    assert repr(Steps([Resize(2, 3)])) == "Steps(steps=(Resize(height=2, width=3),))"
    assert hash(steps) == hash(Steps(list(steps.steps)))


def test_no_steps_change_nothing() -> None:
    sample = (noise(2, 3), 1)
    assert Steps([])(sample) is sample


def test_what_cannot_be_called_is_no_step() -> None:
    with pytest.raises(BadArgument, match="'decode' cannot be called"):
        Steps(["decode"])  # type: ignore[list-item]


def test_steps_know_what_they_import_and_import_it_early(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Steps([Decode(), RandomHorizontalFlip()]).libraries == ("PIL.Image", "simplejpeg")
    assert Steps([*SHARED, darker]).libraries == ("PIL.Image", "simplejpeg", "torch")
    imported: list[str] = []
    monkeypatch.setattr(libraries, "_imported", imported.append)
    Steps([Steps([ToTensor()]), CenterCrop(3)]).warm_up()
    assert imported == ["torch"]


def test_the_type_that_comes_out_is_that_of_the_last_step() -> None:
    assert Steps(SHARED).dtype == "uint8"
    assert Steps([Steps(OWN)]).dtype == "float32"
    assert Steps([darker]).dtype is None
    assert Steps([]).dtype is None
