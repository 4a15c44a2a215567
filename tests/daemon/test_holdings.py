"""Who is asked for what lives here now, and what becomes of the answers."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from joader.daemon.heirs import packed
from joader.daemon.holdings import Holdings
from joader.messages.nodes import Held

ROWS = 100


@dataclass
class Link:
    """A connection to a node that notes what it is asked."""

    asked: list[str] = field(default_factory=list)

    def ask_held(self, recipe: str) -> None:
        self.asked.append(recipe)


def holdings(links: dict[str, Link]) -> Holdings:
    register = SimpleNamespace(join=SimpleNamespace(row_limit=ROWS, recipe="photos here"))
    reads: Any = SimpleNamespace(hosts=lambda: {"photos": None}, hosted={"photos": register})
    engine: Any = None  # asked what is here only
    link: Any = links.get
    return Holdings(engine, reads, link)


def bits(*rows: int) -> bytes:
    return packed(np.array(rows, np.int64), ROWS)


def test_each_node_is_asked_once_and_again_when_one_has_gone() -> None:
    links = {"a": Link(), "b": Link()}
    found = holdings(links)
    able, keep = {"a": {"photos"}, "b": {"sounds"}, "c": {"photos"}}, {"b": {"photos"}}
    found.look(able, keep)
    found.look(able, keep)
    assert links["a"].asked == links["b"].asked == ["photos"]
    links["c"] = Link()  # now it can be reached
    found.look(able, keep)
    assert [len(one.asked) for one in links.values()] == [1, 1, 1]
    del able["c"]
    found.forget("c")
    found.look(able, keep)
    assert [len(one.asked) for one in links.values()] == [2, 2, 1]


def test_a_node_that_comes_is_all_that_is_asked_then() -> None:
    links = {"a": Link(), "b": Link()}
    found = holdings(links)
    found.look({"a": {"photos"}}, {})
    found.look({"a": {"photos"}, "b": {"photos"}}, {})
    assert len(links["a"].asked) == len(links["b"].asked) == 1


def test_rows_are_asked_of_who_keeps_them_before_who_has_copies() -> None:
    found = holdings({"a": Link(), "b": Link(), "c": Link()})
    found.look({name: {"photos"} for name in "abc"}, {})
    found.told("a", Held("photos", bits(1, 2), bits(3, 4)))
    found.told("b", Held("photos", bits(3), bits(1, 4, 5)))
    found.told("c", Held("sounds", bits(7), b""))  # nobody here reads it
    assert found.holders("photos", range(1, 8)) == ["a", "a", "b", "a", "b", "", ""]
    found.missing("photos", [2])
    found.forget("b")
    assert found.holders("photos", range(1, 6)) == ["a", "", "", "a", ""]
    found.told("a", Held("photos", bits(5), b""))  # all that it has now
    assert found.holders("photos", range(1, 6)) == ["", "", "", "", "a"]


def test_nonsense_is_not_believed() -> None:
    found = holdings({"a": Link()})
    found.look({"a": {"photos"}}, {})
    found.told("a", Held("photos", b"nonsense", b""))
    found.told("a", Held("photos", packed(np.arange(10), 10 * ROWS), b""))
    assert not any(found.holders("photos", range(10)))
