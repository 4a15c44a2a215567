"""Large containers: as different as small ones, and in a time that their size allows."""

from pathlib import Path

import numpy as np

from joader.recipe.fingerprint import anatomy, fingerprint
from tests.recipe.fingerprint.test_anatomy import Colour, Record, different


def test_many_records_are_as_different_as_few():
    def records(label: int) -> list[Record]:
        return [Record(str(number), label if number == 70 else 0, [0.5]) for number in range(100)]

    late = records(0)
    late[50] = Record("50", 0, [0.25])
    different(records(0), records(1), late, [vars(one) for one in records(0)], records(0)[1:])
    assert fingerprint(records(1)) == fingerprint(records(1))
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert fingerprint([one, other] * 50) == fingerprint([other, one] * 50)


class OtherRecord(Record):
    pass


def test_large_containers_that_hold_the_same_in_another_arrangement_differ(monkeypatch):
    monkeypatch.setattr(anatomy, "MIN_SIZE", 0)
    first, second = Colour.RED, Colour.BLUE
    different(
        *([[1], [2, 3]], [[1, 2], [3]], [[1, 2, 3]], [[1, 2, 3], []], [1, 2, 3], [[[1, 2, 3]]]),
        *([(1,), [2]], [[1], [2]], [[1], (2,)], [(1,), (2,)], ((1,), (2,))),
        *([1, (2,), 3], [1, 3, (2,)], [(2,), 1, 3], [1, 2], [1, True], [True, 1]),
        *([1, 1.0], [1, "1"], ["1", 1]),
        *([{"a": 1}], [{"b": 1}], [{"a": 1, "b": 1}], [{"a": 1}, {"b": 1}], [{}, {"a": 1}], [{}]),
        *([Record("a")], [OtherRecord("a")], [Record("a"), OtherRecord("a")]),
        *([OtherRecord("a"), Record("a")], [first, second], [second, first], [[first], second]),
        *([first, [second]], [[first, second]], [[first], [second]], [np.int8(1)], [np.int16(1)]),
        *(["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], [Path("abc")], [b"abc"], [None], []),
    )


def test_a_large_list_of_one_object_is_walked_once():
    big = tuple(range(100_000))
    assert fingerprint([big] * 10_000) != fingerprint([big] * 9_999)
