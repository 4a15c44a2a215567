"""Rules for one round, from the current sizes: the paper's rule, and a common random order.

A rule gets the cells, the jobs that take part and what each has left, and returns *picks*: which
jobs read one row together, and from which cell. The caller then takes a uniformly random row of
that cell for them. A rule is correct if each job's cell has probability (rows in the cell) / (rows
the job has left): then its row is uniform over what it has not read, given all that came before.
How the jobs' choices are coupled is free, and decides how much is shared.
"""

from collections.abc import Iterable, Sequence

from joader.sampling.bits import Bits
from joader.sampling.cells import Cell

Pick = tuple[Cell, int]  # a cell, and the mask of the jobs that read one of its rows together
Player = tuple[int, int]  # rows left, bit


def paper_rule(cells: Iterable[Cell], players: Sequence[Player], bits: Bits) -> list[Pick]:
    """Play a round of dependent sampling (JOADER §3, Algorithm 1), optimal for two jobs.

    Algorithm 1 sets c to |D| where its proof needs |D| - |S|; the proof is followed.
    """
    players = sorted(players)
    open_cells = [cell for cell in cells if cell.rows]
    undecided = sum(bit for _, bit in players)
    passed = 0  # |S|: rows of the intersections that were passed over
    picks: list[Pick] = []
    number = 0
    while number < len(players):
        common = [cell for cell in open_cells if cell.mask & undecided == undecided]
        size = sum(map(len, common))
        takers = 0
        weight = size
        for left, bit in players[number:]:
            if bits.below(left - passed) >= weight:
                break
            takers |= bit
            weight = left - passed
            number += 1
        if takers:
            _pick(picks, common, takers, bits)
        else:
            bit = players[number][1]
            own = [c for c in open_cells if c.mask & bit and c.mask & undecided != undecided]
            _pick(picks, own, bit, bits)
            takers = bit
            number += 1
        open_cells = [cell for cell in open_cells if cell.mask & undecided != undecided]
        undecided &= ~takers
        passed += size
    return picks


def common_rule(cells: Iterable[Cell], players: Sequence[Player], bits: Bits) -> list[Pick]:
    """Play a round in which each job takes the first row it needs of one random order."""
    undecided = sum(bit for _, bit in players)
    open_cells = [cell for cell in cells if cell.rows]
    picks: list[Pick] = []
    while undecided:
        open_cells = [cell for cell in open_cells if cell.mask & undecided]
        _pick(picks, open_cells, undecided, bits)
        undecided &= ~picks[-1][0].mask
    return [(cell, takers & cell.mask) for cell, takers in picks]


def _pick(picks: list[Pick], cells: Sequence[Cell], takers: int, bits: Bits) -> None:
    """Pick a random row of these cells, or join an earlier pick that already has that row."""
    place = bits.below(sum(map(len, cells)))
    for cell in cells:
        if place < len(cell.rows):
            break
        place -= len(cell.rows)
    # Under the paper's rule a job that draws alone may meet a cell that others draw from in the
    # same round. The first places of the cell stand for the rows of those earlier picks: meeting
    # one of them is drawing the same row.
    for earlier, (other, others) in enumerate(picks):
        if other is cell:
            if place == 0:
                picks[earlier] = (cell, others | takers)
                return
            place -= 1
    picks.append((cell, takers))
