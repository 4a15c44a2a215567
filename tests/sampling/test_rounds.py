"""Who takes part when: each count exact, spread evenly, the last round included."""

import hypothesis.strategies as st
from hypothesis import given, settings

from joader.sampling.rounds import players_by_round


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 30))
@settings(derandomize=True, deadline=None)
def test_after_every_round_each_has_taken_its_part_rounded_down(
    counts: list[int], more: int
) -> None:
    rounds = max(counts) + more
    masks = players_by_round([(1 << n, count) for n, count in enumerate(counts)], rounds)
    assert len(masks) == rounds
    for number, count in enumerate(counts):
        taken = 0
        for done, mask in enumerate(masks, start=1):
            taken += mask >> number & 1
            assert taken == done * count // rounds
        assert taken == count
