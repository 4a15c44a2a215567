"""Least recently used, against sorting by when each was let go."""

from joader.cache import Lru
from tests.cache.eviction.naive import Stage, machine_of

TestLruAgainstNaive = machine_of(Lru)


def test_what_was_let_go_last_leaves_last():
    stage = Stage(Lru)
    first, second = stage.admit(1), stage.admit(2)
    stage.pin(first)
    stage.let_go(first)
    assert stage.order() == [second, first]
