"""What code reads from outside itself is found in its bytecode."""

from collections.abc import Callable
from typing import Any

import pytest

from joader.recipe.fingerprint.reads import Use, reads


def test_imports_are_known_by_the_names_they_are_stored_under():
    def function(row: Any) -> Any:
        import os.path
        import xml.dom.minidom as dom
        from json import decoder
        from json import loads as parse

        return os.sep, dom.parse, decoder.scanstring, parse(row)

    found = {use.names for use in reads(function.__code__).uses if use.origin == "import"}
    assert found == {
        ("os", "sep"),
        ("xml.dom.minidom", "parse"),
        ("json", "decoder", "scanstring"),
        ("json", "loads"),
    }


def used(function: Callable[..., Any]) -> set[Use]:
    return set(reads(function.__code__).uses)


def test_globals_are_known_with_the_attributes_that_are_read_of_them() -> None:
    def function(row: Any) -> Any:
        return args.size + args.model.depth + len(row)  # type: ignore[name-defined]  # noqa: F821

    assert reads(function.__code__).names == (
        ("args", "model", "depth"),
        ("args", "size"),
        ("len",),
    )


def test_what_a_function_assigns_itself_is_not_read_from_outside() -> None:
    def function(row: Any) -> Any:
        size = row.size
        return size.width

    assert used(function) == set()


def test_code_inside_code_counts_and_closures_are_told_from_globals() -> None:
    scale = object()

    def function(rows: Any) -> Any:
        return [scale.factor * one for one in rows if (lambda: other.limit)()]  # type: ignore[attr-defined, name-defined]  # noqa: F821

    assert {(use.origin, use.names) for use in used(function)} == {
        ("free", ("scale", "factor")),
        ("global", ("other", "limit")),
    }


@pytest.mark.parametrize(
    ("expression", "how"),
    [
        ("table['X']", "item"),
        ("table.get('X', 3)", "call"),
        ("'X' in table", "in"),
        ("table[row]", ""),
        ("table.get(row)", ""),
    ],
)
def test_how_a_value_is_asked_for_a_constant_string(expression: str, how: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def function(row): return {expression}", scope)
    (use,) = used(scope["function"])
    assert use.names[0] == "table"
    assert (use.how, use.key) == ((how, "X") if how else ("", ""))


def test_words_are_all_names_even_of_what_is_not_known() -> None:
    def function(row: Any) -> Any:
        return row.first().second

    assert reads(function.__code__).words == {"first", "second"}
