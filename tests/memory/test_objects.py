"""Values without a layout of their own, pickled."""

import threading

import pytest

from joader.errors import BadArgument, OurError
from joader.memory.objects import dump, load


def test_a_value_comes_back() -> None:
    value = {"a": {1, 2}, "b": range(3)}
    assert load(dump(value), allow_pickle=True) == value


def test_nothing_is_loaded_by_who_did_not_allow_it() -> None:
    with pytest.raises(OurError, match="allow_pickle=True"):
        load(dump(1), allow_pickle=False)


def test_what_cannot_travel_is_named_by_its_class() -> None:
    with pytest.raises(BadArgument, match=r"holds a _thread\.lock, which cannot be handed"):
        dump(threading.Lock())


def test_what_cannot_be_rebuilt_says_why() -> None:
    data = dump(threading.Thread).replace(b"Thread", b"Thraed")
    with pytest.raises(BadArgument, match=r"cannot be rebuilt in this process: .*Thraed"):
        load(data, allow_pickle=True)
