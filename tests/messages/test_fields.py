"""What messages are made of: arrays as bytes, and numbers within bounds."""

import msgspec
import numpy as np
import pytest

from joader.messages import Join
from joader.messages.fields import NONE, Natural, as_bytes, from_bytes


@pytest.mark.parametrize("dtype", [np.int64, ">i8", np.uint32, np.int8])
def test_an_array_of_integers_comes_back_as_64_bits(dtype: object) -> None:
    array = np.array([3, 0, 100], dtype)  # type: ignore[call-overload]
    back = from_bytes(np.ndarray, as_bytes(array[::-1]))
    assert back.tolist() == [100, 0, 3]
    assert back.dtype == np.int64


def test_what_comes_in_cannot_be_changed() -> None:
    assert not from_bytes(np.ndarray, as_bytes(np.arange(3))).flags.writeable
    assert not NONE.flags.writeable


@pytest.mark.parametrize("data", [bytes(7), "text", 8, None])
def test_what_is_no_array_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="8-byte integers"):
        from_bytes(np.ndarray, data)


def test_nothing_but_arrays_travels_as_bytes() -> None:
    with pytest.raises(NotImplementedError, match="set cannot be sent"):
        as_bytes({1})


def test_numbers_that_no_peer_can_mean_are_refused() -> None:
    assert msgspec.convert(2**63 - 1, Natural) == 2**63 - 1
    for number in (-1, 2**63):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(number, Natural)


def test_texts_have_an_end() -> None:
    body = msgspec.msgpack.encode(Join(1, "x" * (1 << 16) + "x", NONE, 0, 1), enc_hook=as_bytes)
    with pytest.raises(msgspec.ValidationError, match="length"):
        msgspec.msgpack.decode(body, type=Join, dec_hook=from_bytes)
