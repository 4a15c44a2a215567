"""An outline as short text."""

from typing import Any

import pytest

from joader.recipe.fingerprint import outline, shorthand
from joader.recipe.fingerprint.shorthand import MOST_CHARACTERS, change, first_difference


class Box:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def short(**attributes: Any) -> str:
    return shorthand.shorthand(outline(Box(**attributes)))


def test_nothing_has_changed_where_nothing_has() -> None:
    assert change(short(size=3), outline(Box(size=3))) == ""
    assert first_difference(short(size=3), short(size=3)) == ""


def test_what_has_changed_is_named_by_its_path_and_not_by_its_old_value() -> None:
    told = change(short(size="secret", other=[1]), outline(Box(size="open", other=[1])))
    assert told.startswith("dataset.size")
    assert "secret" not in told
    assert "dataset.size" in first_difference(short(size=3), short(size=4))


def test_a_large_outline_is_cut_to_size_and_still_names_what_is_near() -> None:
    many = {f"a_long_attribute_{n}": {f"key {n} {m}": m for m in range(9)} for n in range(300)}
    text = short(**many)
    assert 0 < len(text) <= MOST_CHARACTERS


@pytest.mark.parametrize("text", ["", "no shorthand", "x" * 100])
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert change(text, outline(Box(size=3))) == ""
    assert first_difference(text, short(size=3)) == ""


def test_another_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = short(size=3), outline(Box(size=3))
    monkeypatch.setattr(shorthand.sys.implementation, "cache_tag", "other-99")
    assert change(before, now).endswith("but this is other-99")
