"""Arguments that cannot be are refused with the value and what is allowed, before anything runs."""

from typing import Any

import pytest

import joader
from joader.client import torch_api
from joader.errors import BadArgument


class Length:
    """A dataset that says it is so long."""

    def __init__(self, length: Any) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length  # type: ignore[no-any-return]

    def __getitem__(self, row: int) -> int:
        return row


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": "soon"}, "but got timeout='soon'; it is in seconds, 120 by default"),
        ({"timeout": None}, "got timeout=None"),
        ({"timeout": float("nan")}, "got timeout=nan"),
        ({"key": 5}, "key is 5; it is a text, or None"),
        ({"job": b"x"}, "job is b'x'; it is a text, or None"),
        ({"batch_size": 0}, "got batch_size=0"),
        ({"weight": 0}, "weight is 0; it is a number from"),
        ({"weight": float("nan")}, "weight is nan"),
        ({"weight": float("inf")}, "weight is inf"),
        ({"weight": "2"}, "weight is '2'"),
        ({"prepare": "Decode"}, "prepare is 'Decode'; it is a function of a sample"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        joader.DataLoader([1, 2, 3], **given)


@pytest.mark.parametrize(
    "given",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"batch_size": 0},
        {"batch_size": None, "drop_last": True},
        {"sampler": [0], "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
        {"prefetch_factor": 2},
        {"prefetch_factor": -1, "num_workers": 1},
        {"persistent_workers": True},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "none", "num_workers": 1},
    ],
    ids=str,
)
def test_what_torch_refuses_is_refused_with_its_words(given: dict[str, Any]) -> None:
    """Scripts look for them."""
    pytest.importorskip("torch.utils.data")
    with pytest.raises(ValueError, match=" ") as theirs:
        torch_api.original_loader()([1, 2, 3], **given)
    with pytest.raises(BadArgument) as ours:
        joader.DataLoader([1, 2, 3], **given)
    assert str(theirs.value)[:40] in str(ours.value)


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (2**40, r"of 1099511627776 rows; at most 4294967296"),
        (-1, "whose length is unknown"),
        ("x", "whose length is unknown"),
    ],
)
def test_a_length_that_cannot_be_is_said(length: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        joader.DataLoader(Length(length))
