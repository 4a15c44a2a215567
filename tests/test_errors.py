"""The tree drawn in the docstring of `joader.errors` is the tree that exists."""

import builtins
import re

import pytest

from joader import errors
from joader.config import size_in_bytes

DRAWN_LINE = re.compile(
    r"^(?P<lead>[ │├└─]*)(?P<name>[A-Z]\w+)(?: +\((?P<built_in>[\w, ]+)\))?(?: |$)"
)


def drawn_tree() -> dict[str, tuple[str, ...]]:
    """Return the bases of each class, by name, as the drawing shows them."""
    tree: dict[str, tuple[str, ...]] = {}
    path: list[tuple[int, str]] = []  # from the root to the last line read: (column, name)
    for line in (errors.__doc__ or "").splitlines():
        found = DRAWN_LINE.match(line)
        if not found or not (found["name"] == "JoaderError" or "── " in found["lead"]):
            continue
        column = found.start("name")
        while path and path[-1][0] >= column:
            path.pop()
        parent = path[-1][1] if path else "Exception"
        built_in = found["built_in"]
        tree[found["name"]] = (parent, *built_in.split(", ")) if built_in else (parent,)
        path.append((column, found["name"]))
    return tree


def existing_tree() -> dict[str, tuple[str, ...]]:
    """Return the bases of each class, by name, as the module defines them."""
    return {
        name: tuple(base.__name__ for base in value.__bases__)
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    }


def test_drawing_has_a_root_and_more_than_one_level() -> None:
    tree = drawn_tree()
    assert tree["JoaderError"] == ("Exception",)
    assert tree["BadRows"] == ("UserError", "ValueError")


def test_drawn_tree_equals_the_classes_that_exist() -> None:
    assert drawn_tree() == existing_tree()


@pytest.mark.parametrize(
    ("name", "built_in"),
    [(name, base) for name, bases in drawn_tree().items() for base in bases[1:]],
)
def test_leaf_is_caught_by_the_built_in_error_the_drawing_names(name: str, built_in: str) -> None:
    leaf = getattr(errors, name)
    with pytest.raises(getattr(builtins, built_in)):
        raise leaf("what happened")


@pytest.mark.parametrize("name", list(drawn_tree()))
def test_message_is_shown_as_written(name: str) -> None:
    assert str(getattr(errors, name)("job 'a' has left")) == "job 'a' has left"


@pytest.mark.parametrize(
    ("least", "size"), [(1, "1"), (1025, "2KiB"), (64 << 20, "64MiB"), ((64 << 20) + 1, "65MiB")]
)
def test_memory_to_give_is_a_command_and_never_too_little(least: int, size: str) -> None:
    assert errors.more_memory(least).endswith(f"`joader up --memory {size}`")
    assert size_in_bytes(size) >= least
