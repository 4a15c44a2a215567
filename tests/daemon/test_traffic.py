"""What went between nodes, as it is told."""

from dataclasses import replace
from typing import Any

from joader.daemon.fetching import Fetched
from joader.daemon.traffic import own_traffic, statistics
from joader.messages.nodes import Members, Node
from joader.statistics import CacheStatistics

A, B, C = (Node(name, "host", 1, cores) for name, cores in (("a", 2), ("b", 4), ("c", 8)))


class Guests:
    sent_rows, sent_bytes = 7, 700


COUNTS = replace(Fetched(), prepared=10, rows=5, bytes=500, lost=1, not_sent=2)
MEMORY = CacheStatistics(budget_bytes=1000, used_bytes=400)


def told(**more: int) -> dict[str, int]:
    guests: Any = Guests()
    return {**own_traffic(COUNTS, guests, MEMORY, 15), **more}


def test_a_node_says_what_it_did_and_holds() -> None:
    assert told() == {
        "delivered": 15,
        "prepared": 10,
        "fetched": 5,
        "fetched_bytes": 500,
        "sent": 7,
        "sent_bytes": 700,
        "used_bytes": 400,
        "budget_bytes": 1000,
    }


def test_people_see_all_nodes_each_as_it_says_and_what_they_come_to() -> None:
    guests: Any = Guests()
    found = statistics(
        A,
        Members(3, (A, B, C), leader="b"),
        counts=COUNTS,
        guests=guests,
        memory=MEMORY,
        delivered=15,
        leader_reached=True,
        # One that says of this node what is not so is not asked, and one may not have said a thing.
        told={"b": told(prepared=20, delivered=25), "a": told(prepared=1000)},
        linked=lambda name: name == "b",
        recipes=lambda name: {"a": 1, "b": 2}.get(name, 0),
    )
    assert [(node.name, node.here, node.linked) for node in found.nodes] == [
        ("a", True, False),
        ("b", False, True),
        ("c", False, False),
    ]
    assert [node.prepared for node in found.nodes] == [10, 20, 0]
    assert [node.recipes for node in found.nodes] == [1, 2, 0]
    assert (found.name, found.leader, found.version) == ("a", "b", 3)
    assert (found.fetched, found.lost, found.not_sent) == (5, 1, 2)
    assert found.totals.prepared == 30
    assert found.totals.delivered == 40
