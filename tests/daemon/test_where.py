"""Where rows live, as one node sees it."""

from collections.abc import Sequence
from typing import Any

import pytest

from joader.daemon.rank_host import Homes
from joader.daemon.where import Location, Where
from joader.messages.nodes import Members, Node

ROWS = range(1000)
A, B, C = (Node(name, "host", 1, 4) for name in "abc")


class Around:
    """What a node knows beside who is there: salts, its jobs, who had rows before, if it leaves."""

    def __init__(self) -> None:
        self.salts, self.reads, self.begun = (0, False), True, False
        self.held: dict[int, str] = {}

    def salt(self, recipe: str) -> tuple[int, bool]:
        return self.salts

    def host_of(self, recipe: str) -> object | None:
        return self if self.reads else None

    def holders(self, recipe: str, rows: Sequence[int]) -> list[str]:
        return [self.held.get(row, "") for row in rows]


@pytest.fixture
def around() -> Around:
    return Around()


def where(around: Any, own: Node = A, *others: Node) -> Where:
    found = Where(own, clocks=around, registration=around, leaving=around, holdings=around)
    found.members = Members(3, (own, *others))
    found.able = {other.name: frozenset(["recipe"]) for other in others}
    return found


def places(
    found: Where, trusted: str = "abc", for_guest: bool = False
) -> list[Location | None] | None:
    return found.places("recipe", ROWS, trusted.__contains__, for_guest=for_guest)


def asked(found: Where, own: str = "a", **more: Any) -> list[str]:
    """Return who is asked for each row; oneself where it is prepared here."""
    each = places(found, **more)
    assert each is not None
    return [own if one is None else one.node for one in each]


def test_rows_that_no_other_node_can_prepare_are_prepared_here(around: Around) -> None:
    assert places(where(around)) is None
    found = where(around, A, B)
    found.able["b"] = frozenset(["another"])
    assert places(found) is None


def test_nodes_that_have_heard_the_same_agree_on_every_row(around: Around) -> None:
    first = asked(where(around, A, B, C), own="a")
    assert first == asked(where(around, C, A, B), own="c")
    assert set(first) == {"a", "b", "c"}


def test_who_cannot_prepare_a_recipe_or_has_gone_is_nobodys_home(around: Around) -> None:
    found = where(around, A, B, C)
    found.able["c"] = frozenset(["another"])
    assert set(asked(found)) == {"a", "b"}
    found.able["b"] = frozenset(["recipe"])
    found.members = Members(4, (A, C))
    assert found.others("recipe") == set()
    assert places(found) is None


def test_what_has_just_come_to_live_here_is_still_where_it_lived_before(around: Around) -> None:
    found = where(around, A, B, C)
    before = asked(found)
    around.salts = (1, True)
    while_new, new = asked(found), places(found)
    around.salts = (1, False)
    after = asked(found)
    assert before != after
    assert new is not None
    for old, now, later, place in zip(before, while_new, after, new, strict=True):
        assert now == (old if later == "a" else later)
        assert place is None or place.moves == (later == "a")


def test_what_another_has_is_fetched_from_there_if_it_lives_here_now(around: Around) -> None:
    found = where(around, A, B)
    before = asked(found)
    mine, others = before.index("a"), before.index("b")
    around.held = {mine: "c", others: "c"}
    each = places(found)
    assert each is not None
    assert each[mine] == Location("c", moves=True)
    assert each[others] == Location("b")
    # Also if nobody else reads it any more.
    assert asked(where(around, A))[mine] == "c"


def test_what_another_node_asks_for_is_not_asked_of_a_third(around: Around) -> None:
    found = where(around, A, B, C)
    assert set(asked(found, for_guest=True)) == {"a"}
    around.held = {5: "b"}
    each = places(found, for_guest=True)
    assert each is not None
    assert each[5] == Location("b", moves=True)


def test_while_a_home_is_not_trusted_another_takes_its_place(around: Around) -> None:
    each = places(where(around, A, B, C), trusted="b")
    assert each is not None
    instead = {(one.node, one.instead) for one in each if one is not None}
    # Of c's rows some would live here, and are then prepared here.
    assert instead == {("b", ""), ("c", "b"), ("c", "")}


def test_others_are_told_all_that_homes_depend_on(around: Around) -> None:
    found = where(around, B, A)
    around.salts = (2, False)
    assert found.now("recipe") == Homes(3, (("a", 4), ("b", 4)), ("a", "b"), 2)
    around.begun = True  # it leaves: it is nobody's home any more
    assert found.now("recipe").able == ("a",)
    around.begun, around.reads = False, False
    assert found.now("recipe").able == ("a",)
