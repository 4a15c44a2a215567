"""What cannot travel to the workers is named by the way to it."""

import threading
from dataclasses import dataclass, field
from functools import partial
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


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def _by_value(lock: Any) -> Any:
    """Return a function of a script, which travels with the globals it uses."""
    script: dict[str, Any] = {"__name__": "__main__", "LOCK": lock}
    exec("def read(row):\n    return LOCK", script)
    return script["read"]


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
        (lambda lock: Holder(partial(print, lock)), r"held\.args\[0\] is a _thread\.lock"),
        (lambda lock: Holder(Slotted(lock)), r"held\.held is a _thread\.lock"),
        (lambda lock: Holder(type("Local", (), {"lock": lock})), r"held\.lock is a _thread\.lock"),
        (lambda lock: Holder(type("Local", (), {"lock": lock})()), r"held\.__class__\.lock is a"),
        (lambda lock: Holder(number for number in [1]), r"held is a builtins\.generator"),
        (lambda lock: Holder(_by_value(lock)), r"held \(its global LOCK\) is a _thread\.lock"),
    ],
)
def test_what_cannot_is_named(make: Any, way: str) -> None:
    with pytest.raises(BadArgument, match=f"the dataset cannot be sent to the worker .*: {way}"):
        pickled(make(threading.Lock()), "dataset")
