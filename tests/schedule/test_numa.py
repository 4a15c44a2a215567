"""Which memory node workers belong on, with topologies that we do not have."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from joader.schedule.numa import Group, nodes_of

TWO = [frozenset(range(8)), frozenset(range(8, 16))]
FOUR = [frozenset(range(4 * n, 4 * n + 4)) for n in range(4)]


def test_with_one_node_there_is_nothing_to_decide() -> None:
    assert nodes_of({"a": Group(3.0), "b": Group(2.0)}, [frozenset(range(8))]) == {
        "a": [3.0],
        "b": [2.0],
    }


def test_a_group_that_fits_is_on_one_node() -> None:
    found = nodes_of({"a": Group(6.0), "b": Group(6.0), "c": Group(2.0)}, TWO)
    assert all(sorted(parts)[0] == 0.0 for parts in found.values())
    assert [sum(parts) for parts in zip(*found.values(), strict=True)] in ([8, 6], [6, 8])


def test_workers_are_where_their_job_is() -> None:
    found = nodes_of({"a": Group(2.0, frozenset({9, 10})), "b": Group(2.0, frozenset({0}))}, TWO)
    assert found == {"a": [0.0, 2.0], "b": [2.0, 0.0]}


def test_one_that_is_too_large_is_spread_over_as_few_as_can_be() -> None:
    found = nodes_of({"large": Group(10.0), "small": Group(3.0)}, FOUR)
    assert sorted(found["large"]) == [0, 2, 4, 4]
    assert found["small"][found["large"].index(0)] == 3.0


def test_beyond_what_there_is_all_nodes_are_shared() -> None:
    assert nodes_of({"a": Group(24.0)}, TWO) == {"a": [12.0, 12.0]}


@given(
    wants=st.lists(st.floats(0.0, 20.0), min_size=1, max_size=6),
    nodes=st.sampled_from([TWO, FOUR, [frozenset({0}), frozenset(range(1, 8))]]),
)
def test_everybody_gets_all_and_no_node_is_full_while_another_is_not(
    wants: list[float], nodes: list[frozenset[int]]
) -> None:
    found = nodes_of({str(n): Group(w) for n, w in enumerate(wants)}, nodes)
    assert [sum(parts) for parts in found.values()] == pytest.approx(wants)
    used = [sum(parts[place] for parts in found.values()) for place in range(len(nodes))]
    if sum(wants) <= sum(map(len, nodes)):
        assert all(u <= len(node) + 1e-9 for u, node in zip(used, nodes, strict=True))
