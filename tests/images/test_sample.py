"""A step treats the image of a sample and passes the rest on in a container of the same kind."""

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from joader.errors import BadArgument
from joader.images.sample import image_of, with_image

Pair = namedtuple("Pair", ["image", "label"])


@pytest.mark.parametrize(
    ("sample", "changed"),
    [
        ("old", "new"),
        (("old", 1, "a"), ("new", 1, "a")),
        (("old",), ("new",)),
        (["old", 1], ["new", 1]),
        (Pair("old", 1), Pair("new", 1)),
        ({"label": 1, "image": "old"}, {"label": 1, "image": "new"}),
        (OrderedDict(image="old", label=1), OrderedDict(image="new", label=1)),
    ],
)
def test_only_the_image_is_another(sample: Any, changed: Any) -> None:
    assert image_of(sample) == "old"
    assert with_image(sample, "new") == changed
    assert type(with_image(sample, "new")) is type(sample)
    assert image_of(sample) == "old"  # the given sample stays as it is


@pytest.mark.parametrize(
    ("sample", "said"),
    [((), "empty tuple"), ([], "empty list"), ({"img": 1}, r"without the key 'image'.*\['img'\]")],
)
def test_a_sample_without_an_image_is_refused(sample: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        image_of(sample)
