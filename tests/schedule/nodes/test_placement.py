"""Homes: the same for every job, by cores, and few of them move."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from scipy.stats import chisquare

from joader.errors import BadArgument
from joader.schedule.nodes.placement import Node, homes
from tests.trials import trials

ROWS = np.arange(50_000)
NAMES = st.integers(0, 10**9).map(lambda number: f"node-{number}")


def cluster(count: int, first: int = 0) -> list[Node]:
    return [Node(f"node-{first + number}") for number in range(count)]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("cores", [(1, 1, 1, 1), (1, 3, 4), (2, 2, 64)])
def test_nodes_have_rows_in_proportion_to_their_cores(cores: tuple[int, ...], seed: int) -> None:
    nodes = [Node(f"n{place}", count) for place, count in enumerate(cores)]
    found = np.bincount(homes(ROWS, nodes, seed=seed), minlength=len(nodes))
    expected = np.array(cores) / sum(cores) * ROWS.size
    assert chisquare(found, expected).pvalue > 1e-4


def test_homes_of_neighboring_rows_and_of_other_seeds_have_nothing_in_common() -> None:
    found = homes(ROWS, cluster(8))
    pairs = np.bincount(found[:-1] * 8 + found[1:], minlength=64)
    assert chisquare(pairs).pvalue > 1e-4
    other = homes(ROWS, cluster(8), seed=1)
    assert chisquare(np.bincount(found * 8 + other, minlength=64)).pvalue > 1e-4


@pytest.mark.parametrize("count", [2, 3, 8, 32])
def test_a_node_that_joins_or_leaves_moves_its_own_rows_alone(count: int) -> None:
    nodes = cluster(count)
    before, after = homes(ROWS, nodes[:-1]), homes(ROWS, nodes)
    moved = before != after
    assert (after[moved] == count - 1).all()
    assert moved.mean() <= 1.2 / count


@given(
    names=st.lists(NAMES, min_size=2, max_size=6, unique=True),
    cores=st.lists(st.integers(1, 8), min_size=6, max_size=6),
    able=st.sets(st.integers(0, 5), min_size=1),
    rows=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200),
)
@settings(max_examples=trials(500, 60), deadline=None)
def test_hashing_twice_as_the_paper_does_is_hashing_over_the_nodes_that_are_able(
    names: list[str], cores: list[int], able: set[int], rows: list[int]
) -> None:
    nodes = [Node(name, count) for name, count in zip(names, cores, strict=False)]
    able = {place for place in able if place < len(nodes)} or {0}
    first = homes(rows, nodes)
    second = homes(rows, nodes, {nodes[place].name for place in able})
    kept = np.isin(first, list(able))
    assert (second[kept] == first[kept]).all()
    assert np.isin(second, list(able)).all()


def test_two_jobs_on_shifted_nodes_agree_on_every_row_whose_home_runs_both() -> None:
    nodes = cluster(8)
    names = [node.name for node in nodes]
    whole, one, other = (
        homes(ROWS, nodes, able) for able in (None, set(names[:-1]), set(names[1:]))
    )
    both = (whole > 0) & (whole < 7)
    assert (one[both] == other[both]).all()
    # One modulus per job, as torch's, would agree on one row in seven.
    assert (one == other).mean() > 0.75


def test_the_order_of_nodes_does_not_matter() -> None:
    nodes = [*cluster(3), Node("big", 7)]
    backwards = nodes[::-1]
    found = [nodes[place] for place in homes(ROWS[:2000], nodes)]
    assert found == [backwards[place] for place in homes(ROWS[:2000], backwards)]


@pytest.mark.parametrize(
    ("nodes", "able", "words"),
    [
        ([], None, "no node can hold"),
        (cluster(2), set(), "no node can hold"),
        ([Node("a"), Node("a")], None, "one name"),
        ([Node("a", 0)], None, "0 cores"),
        (cluster(2), {"moon"}, "moon"),
    ],
)
def test_nodes_that_make_no_sense_are_named(
    nodes: list[Node], able: set[str] | None, words: str
) -> None:
    with pytest.raises(BadArgument, match=words):
        homes(ROWS[:3], nodes, able)


class Cluster(RuleBasedStateMachine):
    """Nodes come and go; a model keeps the best number of each row, one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.rows = np.arange(0, 40_000, 997)
        self.lives: dict[int, str] = {}

    @rule(name=NAMES, cores=st.integers(1, 5))
    def join(self, name: str, cores: int) -> None:
        if name not in {node.name for node in self.nodes} and len(self.nodes) < 12:
            self.nodes.append(Node(name, cores))
            self._settle(joined=name)

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(pick=st.integers(0, 100))
    def leave(self, pick: int) -> None:
        gone = self.nodes.pop(pick % len(self.nodes))
        self._settle(left=gone.name)

    def _settle(self, joined: str | None = None, left: str | None = None) -> None:
        for row, place in zip(self.rows.tolist(), homes(self.rows, self.nodes), strict=True):
            name = self.nodes[place].name
            before = self.lives.get(row, joined)
            assert name in (before, joined) or before == left
            self.lives[row] = name

    @invariant()
    def every_row_lives_with_the_winner_of_all_pairs(self) -> None:
        for row in self.rows[:5].tolist() if self.nodes else ():
            home = next(node for node in self.nodes if node.name == self.lives[row])
            for node in self.nodes:
                duel = sorted({home, node}, key=lambda one: one.name)
                assert duel[int(homes([row], duel)[0])] == home


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=trials(100, 10), stateful_step_count=20, deadline=None)
