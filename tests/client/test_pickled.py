"""What cannot travel to the workers is named by the way to it."""

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from joader.client.pickled import pickled
from joader.errors import BadArgument


@dataclass
class Holder:
    held: Any
    more: dict[str, Any] = field(default_factory=dict)

    def read(self) -> Any:
        return self.held


def test_what_can_travel_does() -> None:
    assert pickled(Holder(lambda row: row), "dataset")


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (lambda lock: Holder(lock), r"held is a _thread\.lock"),
        (lambda lock: Holder(Holder([1, {"a": lock}])), r"held\.held\[1\]\['a'\] is a"),
        (lambda lock: Holder(1, {"x": lambda: lock}), r"more\['x'\]\.lock is a"),
        (lambda lock: Holder(Holder(lock).read), r"held\.__self__\.held is a"),
        (lambda lock: lock, r"dataset is a _thread\.lock"),
    ],
)
def test_what_cannot_is_named(make: Any, way: str) -> None:
    with pytest.raises(BadArgument, match=f"the dataset cannot be sent to the worker .*: {way}"):
        pickled(make(threading.Lock()), "dataset")
