"""The last copy in the cluster stays longest."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from joader.schedule.nodes.copies import leaving_order, lobster_leaves
from tests.trials import trials

INF = float("inf")
USES = st.one_of(st.integers(0, 9).map(float), st.just(INF))


@given(st.lists(st.tuples(USES, USES, st.integers(1, 3)), max_size=30))
@settings(max_examples=trials(500, 100), deadline=None)
def test_unused_leaves_first_then_copies_then_last_copies_each_by_the_farthest_use(
    samples: list[tuple[float, float, int]],
) -> None:
    here = [one[0] for one in samples]
    anywhere = [min(one[0], one[1]) for one in samples]
    copies = [one[2] for one in samples]

    def rank(place: int) -> tuple[int, float, int]:
        if anywhere[place] == INF:
            return (0, -INF, place)
        last = copies[place] == 1
        return (1 + last, -(anywhere[place] if last else here[place]), place)

    found = leaving_order(here, anywhere, copies).tolist()
    assert found == sorted(range(len(samples)), key=rank)


@pytest.mark.parametrize(
    ("next_use", "copies", "leaves"),
    [
        (INF, 2, True),  # reuse count: no further use here
        (INF, 1, False),  # unless it is the only copy
        (151.0, 1, True),  # reuse distance: not before the end of the next epoch
        (150.0, 1, False),
        (10.0, 3, False),
    ],
)
def test_lobster_evicts_early_what_its_two_rules_say(
    next_use: float, copies: int, leaves: bool
) -> None:
    assert lobster_leaves([next_use], [copies], 50, 100).tolist() == [leaves]


def test_with_one_node_the_reuse_distance_never_fires() -> None:
    rng = np.random.default_rng(0)
    rows, per_epoch = 400, 40
    this, following = rng.permutation(rows) // 10, rng.permutation(rows) // 10
    for iteration in range(per_epoch):
        read = this == iteration
        away = (per_epoch - iteration + following)[read]
        assert not lobster_leaves(away, np.ones(away.size), iteration, per_epoch).any()


class Cluster(RuleBasedStateMachine):
    """Three nodes of four samples read at random; the last copy of a row leaves only if it must."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[set[int]] = [set(), set(), set()]
        self.next_use = {
            (node, row): float((7 * node + 3 * row) % 11) for node in range(3) for row in range(16)
        }

    @rule(node=st.integers(0, 2), row=st.integers(0, 15), soon=st.integers(1, 20))
    def read(self, node: int, row: int, soon: int) -> None:
        self.next_use[node, row] = float(soon)
        held = self.held[node]
        if row in held:
            return
        if len(held) == 4:
            rows = sorted(held)
            copies = [sum(one in other for other in self.held) for one in rows]
            here = [self.next_use[node, one] for one in rows]
            anywhere = [min(self.next_use[other, one] for other in range(3)) for one in rows]
            gone = rows[int(leaving_order(here, anywhere, copies)[0])]
            duplicates = [one for one, count in zip(rows, copies, strict=True) if count > 1]
            assert gone in duplicates or not duplicates
            held.remove(gone)
        held.add(row)

    @invariant()
    def nobody_holds_more_than_there_is_room_for(self) -> None:
        assert all(len(held) <= 4 for held in self.held)


TestClusterOfCopies = Cluster.TestCase
TestClusterOfCopies.settings = settings(max_examples=trials(100, 20), deadline=None)
