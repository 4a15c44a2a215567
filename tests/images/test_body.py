"""Bytes are taken as they are, without a copy."""

import numpy as np

from joader.images.body import Body, body_of


def test_bytes_are_not_copied() -> None:
    data = bytearray(b"abc")
    view = body_of(data).data
    data[0] = ord("x")
    assert bytes(view) == b"xbc"


def test_a_view_of_another_format_is_seen_as_bytes() -> None:
    assert bytes(body_of(memoryview(np.array([1, 2], np.int8))).data) == b"\1\2"


def test_a_body_is_a_body() -> None:
    body = Body(memoryview(b"a"))
    assert body_of(body) is body


def test_it_says_which_image_it_is() -> None:
    assert str(Body(memoryview(bytes(2000)))) == "the image of 2,000 bytes"
    assert str(Body(memoryview(b"a"), "cat.jpg")) == "the image of 1 bytes in cat.jpg"
