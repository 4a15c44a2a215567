"""Arrays are seen as tensors without a copy, also those that may not be written to."""

from typing import Any

import numpy as np

from joader.images.tensors import tensor_of, uniform


def test_a_read_only_array_is_seen_without_a_warning(torch: Any) -> None:
    array = np.arange(6).reshape(2, 3)
    array.flags.writeable = False
    tensor = tensor_of(array, torch)
    assert tensor.data_ptr() == array.__array_interface__["data"][0]
    assert tensor.tolist() == array.tolist()


def test_a_part_of_an_array_is_seen_as_it_lies(torch: Any) -> None:
    array = np.arange(24).reshape(4, 6)
    array.flags.writeable = False
    assert tensor_of(array[1:3, 2:5], torch).tolist() == array[1:3, 2:5].tolist()


def test_numbers_are_drawn_by_the_generator_given(torch: Any) -> None:
    one, other = (
        uniform((3, 2), torch.Generator().manual_seed(1), torch.device("cpu")) for _ in range(2)
    )
    assert torch.equal(one, other)
    assert one.shape == (3, 2)
