"""What travels to workers: shared steps, straight into the slot where they can, and own ones."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from joader.images import CenterCrop, Decode, RandomHorizontalFlip, Resize, Steps, ToTensor
from joader.memory import pack, read
from joader.recipe.parts import OwnPart, SharedPart


class Photos:
    """JPEGs of 40 x 30, in a container of choice."""

    def __init__(self, container: Any) -> None:
        self.container = container

    def __getitem__(self, row: int) -> Any:
        pixels = np.random.default_rng(row).integers(0, 255, (30, 40, 3), np.uint8)
        body = io.BytesIO()
        Image.fromarray(pixels).save(body, "JPEG")
        return self.container(body.getvalue(), row)


def pair(body: bytes, row: int) -> tuple[bytes, int]:
    return body, row


@pytest.mark.parametrize(
    "steps", [[Decode()], [Decode(), Resize(16, 8)], [Decode(), CenterCrop(9)]], ids=str
)
def test_an_image_is_made_straight_in_the_slot_where_its_shape_is_known(steps: list[Any]) -> None:
    shared = SharedPart(Photos(pair), Steps(steps))
    slot = np.zeros(8192, np.uint8)
    expected = shared.prepare(3)
    image, row = shared.prepare(3, slot)
    assert np.shares_memory(image, slot)
    assert row == 3
    parcel = pack((image, row))
    parcel.write(slot)
    again, number = read(parcel.layout, slot)
    assert (again == expected[0]).all()
    assert number == 3


@pytest.mark.parametrize(
    ("steps", "room", "container"),
    [
        ([Decode()], 1000, pair),  # too small
        ([Decode(), ToTensor("numpy")], 65536, pair),  # not as the slot's bytes are
        ([Decode(), lambda sample: sample], 65536, pair),  # who knows what it does
        ([Decode()], 65536, lambda body, row: {"row": row, "image": body}),  # not the first part
    ],
)
def test_else_it_is_made_beside_the_slot(steps: list[Any], room: int, container: Any) -> None:
    shared = SharedPart(Photos(container), Steps(steps))
    slot = np.zeros(room, np.uint8)
    sample = shared.prepare(1, slot)
    image = sample["image"] if isinstance(sample, dict) else sample[0]
    assert not np.shares_memory(image, slot)
    assert not slot.any()


def test_own_parts_draw_from_their_key() -> None:
    own = OwnPart(Steps([RandomHorizontalFlip()]))
    image = np.arange(30, dtype=np.uint8).reshape(1, 10, 3)
    flipped = [bool((own.finish(image, key) != image).any()) for key in range(200)]
    assert flipped == [bool((own.finish(image, key) != image).any()) for key in range(200)]
    # Binomial(200, 0.5): outside with probability below 1e-6.
    assert 64 < sum(flipped) < 136
