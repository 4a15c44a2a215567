"""What is remembered of datasets alike, and which are."""

import gc
import os
from functools import partial
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest

from joader.client.dataset.learned import MOST_KINDS, Learned, _known, kind_of, learn, learned_of
from joader.recipe.watch import Found


class Rows:
    def __init__(self, data: Any, flag: bool = False, steps: Any = ()) -> None:
        self.data, self.flag, self.steps = data, flag, steps

    def __getitem__(self, row: int) -> Any:
        return self.data[row]


class Others(Rows):
    def __getitem__(self, row: int) -> Any:
        return self.data[row]


def scaled(by: float) -> Any:
    return lambda x: x * by


def negated(x: Any) -> Any:
    return -x


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Rows([1, 2]), Rows([3])),
        (Rows(np.zeros(3)), Rows(np.ones(5))),
        (Rows("a.lmdb"), Rows("b.lmdb")),
        (Rows({"a": 1}), Rows({"a": 2})),
        (Rows(Rows([1])), Rows(Rows([2]))),
        (Rows([], steps=scaled(2)), Rows([], steps=scaled(3))),
        (Rows([], steps=[partial(pow, 2)]), Rows([], steps=[partial(pow, 3)])),
    ],
)
def test_datasets_made_alike_are_of_one_kind(one: Any, other: Any) -> None:
    assert kind_of(one) == kind_of(other)
    assert hash(kind_of(one)) == hash(kind_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Rows([1]), Others([1])),
        (Rows([1]), Rows((1,))),
        (Rows([1]), Rows(["a"])),
        (Rows(None), Rows(0)),
        (Rows([], True), Rows([], False)),
        (Rows([], True), Rows([], 1)),  # type: ignore[arg-type]
        (Rows(Rows([1])), Rows(Others([1]))),
        (Rows([Rows([1])]), Rows([Others([1])])),
        (Rows([], steps=scaled(2)), Rows([], steps=negated)),
        (Rows([], steps=scaled(2)), Rows([], steps=scaled(True))),
        (Rows([], steps=partial(negated)), Rows([], steps=partial(scaled))),
        (Rows([], steps=Rows([]).__getitem__), Rows([], steps=Others([]).__getitem__)),
        (SimpleNamespace(a=1), SimpleNamespace(b=1)),
        (SimpleNamespace(a=os), SimpleNamespace(a=gc)),
        (SimpleNamespace(a=Rows), SimpleNamespace(a=Others)),
    ],
)
def test_other_classes_code_and_flags_are_another_kind(one: Any, other: Any) -> None:
    assert kind_of(one) != kind_of(other)


def test_other_code_in_the_same_class_is_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kind_of(Rows([1]))
    monkeypatch.setattr(Rows, "__getitem__", negated)
    assert kind_of(Rows([1])) != before


def test_no_code_of_the_dataset_runs_and_a_ring_or_a_crowd_ends() -> None:
    class Refusing:
        def __init__(self) -> None:
            object.__setattr__(self, "ring", self)
            object.__setattr__(self, "crowd", [[[list(range(9))] * 9] * 9] * 9)

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

        def __len__(self) -> int:
            raise AssertionError

        def __getitem__(self, row: int) -> Any:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    assert kind_of(Refusing()) == kind_of(Refusing())


def test_a_class_that_is_gone_is_let_go_and_equals_no_other() -> None:
    kinds, classes = [], []
    for _ in range(2):
        made = type("Made", (), {"__getitem__": lambda self, row: row})
        kinds.append(kind_of(made()))
        learn(kinds[-1], at_hand=True)
        classes.append(ref(made))
        del made
    gc.collect()
    assert [one() for one in classes] == [None, None]
    assert kinds[0] != kinds[1]


def test_what_is_known_is_bounded_and_the_latest_stays() -> None:
    for number in range(2 * MOST_KINDS):
        learn(number, at_hand=True)
    assert len(_known) == MOST_KINDS
    assert learned_of(2 * MOST_KINDS - 1).at_hand
    assert learned_of(0) == Learned()


def test_what_the_workers_of_an_earlier_loader_have_found_is_known() -> None:
    found = Found()
    learn("kind", found=found)
    assert learned_of("kind").at_hand is None
    found.say_at_hand()
    assert learned_of("kind").at_hand
    learn("kind", at_hand=False)
    assert learned_of("kind").at_hand is False
    assert learn("kind", at_hand=True).at_hand is False
