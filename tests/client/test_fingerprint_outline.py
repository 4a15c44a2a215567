"""Where two datasets differ is said by the first path at which they do."""

from typing import Any

import numpy as np
import pytest

from joader.client.fingerprint import difference, explain, fingerprint, outline


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
        (Box(t=1), Box(t=1, u=2), "dataset.u is in one only: 2"),
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


def test_the_first_difference_in_code_is_named_even_in_a_ring():
    changed = made(SCRIPT.replace("+ 1", "+ 2"))
    words = explain(made(SCRIPT), changed)
    assert words is not None
    assert words.startswith("dataset.__class__.__getitem__.__code__")
    size = explain(made(SCRIPT), made(SCRIPT.replace("SIZE = 3", "SIZE = 4")))
    assert size == "dataset.kept[1].__globals__.SIZE differs: 3 and 4"


def test_an_outline_that_was_cut_still_names_what_it_holds():
    few = {f"name_{number}": number for number in range(50)}
    one, other = Box(**few), Box(**{**few, "name_0": -1}, extra=1)
    assert difference(outline(one, max_lines=9), outline(other, max_lines=9)) == (
        "dataset.name_0 differs: 0 and -1" if "dataset.name_0" in outline(other, max_lines=9) else ""
    )
    assert len(outline(one, max_lines=9)) == 10
    late = Box(**{**few, "name_9": -1})
    words = difference(outline(one, max_lines=3), outline(late, max_lines=3))
    assert words is not None
    assert words.startswith("dataset differs: both are a ")


def test_outlines_agree_exactly_where_fingerprints_do():
    boxes = [Box(a=1), Box(a=1), Box(a=2), Box(b=1)]
    for one in boxes:
        for other in boxes:
            same = fingerprint(one) == fingerprint(other)
            assert (explain(one, other) is None) == same
