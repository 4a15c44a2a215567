"""Where two datasets differ is said by the first path at which they do."""

from typing import Any

import numpy as np
import pytest

from joader.recipe.fingerprint import difference, explain, fingerprint, outline


class Box:
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        vars(self).update(attributes)


def made(source: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "a_script"}
    exec(compile(source, "a_script.py", "exec"), namespace)
    return namespace["dataset"]


def test_equal_datasets_have_no_difference():
    assert explain(Box(size=1, names={"a", "b"}), Box(names={"b", "a"}, size=1)) is None


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (Box(t=Box(size=224)), Box(t=Box(size=256)), "dataset.t.size differs: 224 and 256"),
        (Box(t=[1, {"a": 2}]), Box(t=[1, {"a": 3}]), "dataset.t[1]['a'] differs: 2 and 3"),
        (Box(t=1), Box(t=1, u=2), "dataset.u is in one only"),
        (Box(t={1, "a"}), Box(t={2, "a"}), "dataset.t differs: both are set of 2"),
        (Box(t=None), Box(t="x"), "dataset.t differs: None and 'x'"),
        (
            Box(t=np.zeros(3)),
            Box(t=np.ones(3)),
            "dataset.t differs: both are float64 array of shape (3,)",
        ),
        (
            Box(t=[str(n) for n in range(99)]),
            Box(t=[str(n) for n in range(98)]),
            "dataset.t differs: list of 99 and list of 98",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_difference_in_state_is_named(one, other, words):
    assert explain(one, other) == words


SCRIPT = """
SIZE = 3
def helper(value):
    return value + SIZE
class Dataset:
    def __init__(self):
        super().__init__()
        self.kept = [Dataset, helper]
    def __getitem__(self, row):
        return helper(row) + 1
    def made(self):
        return Dataset()
dataset = Dataset()
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("+ 1", "+ 2", "dataset.__class__.__getitem__.__code__.co_consts[1] differs: 1 and 2"),
        ("SIZE = 3", "SIZE = 4", "dataset.kept[1].__globals__.SIZE differs: 3 and 4"),
        ("row)", "row=0)", "dataset.__class__.__getitem__.__defaults__ is in one only"),
        ("def made", "def other", "dataset.__class__.made is in one only"),
        ("value +", "value -", "dataset.kept[1].__code__ differs: both are code at a_script.py:3"),
        ("class Dataset", "class Dataset(list)", "dataset[:] is in one only"),
    ],
)
def test_the_first_difference_in_code_is_named_even_in_a_ring(old, new, words):
    assert explain(made(SCRIPT), made(SCRIPT.replace(old, new, 1))) == words


def test_an_object_met_in_two_ways_is_compared_in_both():
    shared = [1]
    assert explain(Box(a=shared, b=shared), Box(a=[1], b=[1])) is None
    assert explain(Box(a=shared, b=shared), Box(a=[1], b=[2])) == "dataset.b[0] differs: 1 and 2"


def test_an_outline_that_was_cut_still_says_where():
    few = {f"name_{number}": Box(value=number) for number in range(10, 60)}
    one, early, late = Box(**few), Box(**few | {"name_10": Box()}), Box(**few | {"name_59": Box()})
    whole, *cut = (outline(box, max_lines=20) for box in (one, early, late))
    assert [len(lines) for lines in (whole, *cut)] == [20, 20, 20]
    assert difference(whole, cut[0]) == "dataset.name_10.value is in one only"
    assert difference(whole, cut[1]) == "dataset differs in what is below it"
    assert difference(outline(one), outline(late)) == "dataset.name_59.value is in one only"


def test_outlines_agree_exactly_where_fingerprints_do():
    boxes = [Box(a=1), Box(a=1), Box(a=2), Box(b=1)]
    for one in boxes:
        for other in boxes:
            same = fingerprint(one) == fingerprint(other)
            assert (explain(one, other) is None) == same
