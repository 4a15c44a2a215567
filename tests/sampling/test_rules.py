"""Rules for one round: every job gets one row that it needs, and each as likely as it should."""

from array import array
from collections import Counter

import pytest

from joader.sampling.bits import Bits
from joader.sampling.cells import Cell
from joader.sampling.rules import common_rule, paper_rule

A, B = 1, 2
ROUNDS = 20_000


def cells(only_a: int, only_b: int, both: int) -> list[Cell]:
    sizes = {A: only_a, B: only_b, A | B: both}
    return [Cell(mask, array("I", range(size))) for mask, size in sizes.items()]


def play(rule, only_a, only_b, both, seed=0):
    players = [(only_a + both, A), (only_b + both, B)]
    bits = Bits("rules", seed)
    found = cells(only_a, only_b, both)
    return [rule(found, players, bits) for _ in range(ROUNDS)]


@pytest.mark.parametrize("rule", [paper_rule, common_rule])
def test_every_player_takes_one_row_of_a_cell_it_needs(rule) -> None:
    for picks in play(rule, 3, 9, 4):
        assert sum(takers for _, takers in picks) == A | B
        assert all(takers & ~cell.mask == 0 for cell, takers in picks)


@pytest.mark.parametrize("rule", [paper_rule, common_rule])
def test_a_cell_is_as_likely_as_its_part_of_what_the_job_has_left(rule) -> None:
    counts = Counter(
        bit
        for picks in play(rule, 3, 9, 4)
        for cell, takers in picks
        if cell.mask == A | B
        for bit in (A, B)
        if takers & bit
    )
    # Five standard deviations: less than 1e-6 for each of the four.
    for bit, share in ((A, 4 / 7), (B, 4 / 13)):
        spread = (ROUNDS * share * (1 - share)) ** 0.5
        assert abs(counts[bit] - ROUNDS * share) < 5 * spread


@pytest.mark.parametrize("rule", [paper_rule, common_rule])
def test_jobs_with_equal_rows_always_share_and_jobs_without_common_rows_never(rule) -> None:
    assert all(len(picks) == 1 for picks in play(rule, 0, 0, 5))
    assert all(len(picks) == 2 for picks in play(rule, 5, 5, 0))


def test_the_papers_rule_shares_as_much_as_is_possible_for_two() -> None:
    def shared(rule):
        return sum(len(picks) == 1 for picks in play(rule, 3, 9, 4)) / ROUNDS

    # The most there can be is the smaller of both probabilities, 4/13; five standard deviations.
    assert abs(shared(paper_rule) - 4 / 13) < 0.017
    assert shared(common_rule) < 4 / 13 - 0.017
