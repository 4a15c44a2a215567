"""Where rows live, as one node sees it."""

from typing import Any

import pytest

from joader.daemon.rank_host import Homes
from joader.daemon.where import Where
from joader.messages.nodes import Members, Node

ROWS = range(1000)
A, B, C = (Node(name, "host", 1, 4) for name in "abc")


class Around:
    """What a node knows beside who is there: salts, its jobs, whether it leaves."""

    def __init__(self) -> None:
        self.salts, self.reads, self.begun = (0, False), True, False

    def salt(self, recipe: str) -> tuple[int, bool]:
        return self.salts

    def host_of(self, recipe: str) -> object | None:
        return self if self.reads else None


@pytest.fixture
def around() -> Around:
    return Around()


def where(around: Any, own: Node = A, *others: Node) -> Where:
    found = Where(own, around, around, around)
    found.members = Members(3, (own, *others))
    found.able = {other.name: frozenset(["recipe"]) for other in others}
    return found


def names(found: list[Node] | None) -> list[str]:
    assert found is not None
    return [node.name for node in found]


def test_rows_that_no_other_node_can_prepare_are_prepared_here(around: Around) -> None:
    assert where(around).homes("recipe", ROWS) is None
    assert where(around, A, B).homes("another", ROWS) is None


def test_nodes_that_have_heard_the_same_agree_on_every_row(around: Around) -> None:
    seen = [where(around, *each).homes("recipe", ROWS) for each in ((A, B, C), (C, A, B))]
    assert names(seen[0]) == names(seen[1])
    assert set(names(seen[0])) == {"a", "b", "c"}


def test_who_cannot_prepare_a_recipe_or_has_gone_is_nobodys_home(around: Around) -> None:
    found = where(around, A, B, C)
    found.able["c"] = frozenset(["another"])
    assert set(names(found.homes("recipe", ROWS))) == {"a", "b"}
    found.able["b"] = frozenset(["recipe"])
    found.members = Members(4, (A, C))
    assert found.others("recipe") == set()
    assert found.homes("recipe", ROWS) is None


def test_what_has_just_come_to_live_here_is_still_where_it_lived_before(around: Around) -> None:
    here = where(around, A, B, C)
    before = names(here.homes("recipe", ROWS))
    around.salts = (1, True)
    while_new = names(here.homes("recipe", ROWS))
    around.salts = (1, False)
    after = names(here.homes("recipe", ROWS))
    assert before != after
    for old, now, later in zip(before, while_new, after, strict=True):
        assert now == (old if later == "a" else later)


def test_others_are_told_all_that_homes_depend_on(around: Around) -> None:
    found = where(around, B, A)
    around.salts = (2, False)
    assert found.now("recipe") == Homes(3, (("a", 4), ("b", 4)), ("a", "b"), 2)
    around.begun = True  # it leaves: it is nobody's home any more
    assert found.now("recipe").able == ("a",)
    around.begun, around.reads = False, False
    assert found.now("recipe").able == ("a",)
