"""A look answers for every object: what cannot be compared is named, and equals nothing."""

import sqlite3
from typing import Any

import pytest

from joader.errors import BadArgument
from joader.recipe.fingerprint import difference, fingerprint, look, name_of, outline


class Box:
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        vars(self).update(attributes)


class Stubborn:
    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("no")


def test_a_look_is_fingerprint_and_outline_of_one_walk():
    box = Box(size=3, names={"a"}, rows=list(range(100)))
    seen = look(box)
    assert (seen.name, seen.outline, seen.opaque) == (fingerprint(box), outline(box), "")
    assert look(box, max_lines=1).outline == outline(box, max_lines=1)
    assert look(box, max_lines=1).name == seen.name == name_of(seen.outline)


def test_what_cannot_be_compared_is_named_and_equals_nothing():
    handle = sqlite3.connect(":memory:")
    box = Box(f=handle, size=3)
    one, other = look(box), look(box)
    assert one.name != other.name
    assert one.name != look(Box(f=None, size=3)).name
    assert one.opaque.startswith("dataset.f is a sqlite3.Connection, which has no state that could")
    assert "maybe because this process has read dataset[...], by itself or in a pass" in one.opaque
    assert "give key= to name the dataset yourself" in one.opaque
    assert difference(one.outline, other.outline) == (
        "dataset.f differs: both are a sqlite3.Connection"
    )
    for strict in (fingerprint, outline):
        with pytest.raises(BadArgument) as caught:
            strict(box)
        assert str(caught.value) == one.opaque
    handle.close()


def test_the_first_of_many_is_named_and_the_rest_is_still_looked_at():
    handles = [sqlite3.connect(":memory:") for _ in range(2)]
    seen = look(Box(a=handles[0], b=Box(c=handles[1], size=7)), name="transform")
    assert seen.opaque.startswith("transform.a is a")
    assert "transform[...]" in seen.opaque
    assert "7" in [line.words for line in seen.outline]
    for handle in handles:
        handle.close()


def test_a_generator_is_not_said_to_be_open():
    assert "open now" not in look(Box(steps=(step for step in []))).opaque


def test_whatever_the_code_of_an_object_raises_makes_it_opaque():
    class Meta(type):
        @property
        def __module__(cls) -> Any:
            raise KeyError("no module")

    assert "no" in look(Box(a=Stubborn())).opaque
    assert "looking at it raised KeyError: 'no module'" in look([Meta("Odd", (), {})]).opaque
