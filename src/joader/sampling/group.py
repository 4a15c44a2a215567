"""Jobs that can share work, their cells, and the rounds they play together.

A group belongs to one `DependentSampler`. It chooses the rule for each round: jobs that share
nothing with each other play apart; one or two play the paper's rule, which is optimal for them;
three or more play a `Table`, rebuilt when the sizes have changed enough for that to pay off.
Jobs that need exactly the same rows and play the same rounds are served by array operations.

A draw of {a: 64, b: 16} has 64 rounds; b takes part in 16 of them, spread evenly. Invariant:
`players_by_round` fixes this before any row is drawn, so taking part cannot depend on what is
drawn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from joader.sampling.bits import Bits
from joader.sampling.cells import Cells
from joader.sampling.coupling import Table, bits_of
from joader.sampling.rows import OpenSet
from joader.sampling.rules import Pick, Player, common_rule, paper_rule

# A table takes about 40 us per (job, cell) pair to build; a refusal costs 20 us and perhaps a
# shared row: rebuild after n / RENEW refusals, n being the number of pairs. Rebuilding four times
# as often shares 1 % more and halves the speed on sets of 10,000 rows; half as often shares 1 %
# less and is no faster.
RENEW = 2
FEWEST_REFUSALS = 8
# The paper's rule looks at every cell in each round; with more cells than this a table is faster
# for one or two jobs too.
FEW_CELLS = 8
# Rounds per cell before a set of jobs gets its own table: a table costs 40 us per pair, with a few
# pairs per cell, and a round costs 10 us.
EARN = 8
MOST_TABLES = 16

Part = Table | int  # jobs that play together: by their table, or, as a mask, by a rule of rules.py


class Group:
    """Some jobs and what each still needs. Job numbers are the group's own; bit = 1 << number."""

    def __init__(self, rule: str) -> None:
        """Start without jobs."""
        self.rule = rule
        self.cells = Cells()
        self.left: list[int] = []  # by job number; 0 also if the number is free
        self.members: list[bool] = []
        self._tables: dict[int, list[Part]] = {}  # by the jobs of a draw
        self._played: dict[int, int] = {}  # rounds, by the jobs of a draw without a table
        self._version = -1

    def join(self, rows: OpenSet) -> int:
        """Add a job with these rows to read, and return its number."""
        number = self._free_number()
        self.cells.join(1 << number, rows)
        self.members[number] = True
        self.left[number] = rows.size
        return number

    def leave(self, number: int) -> None:
        """Remove a job."""
        self.cells.leave(1 << number)
        self.members[number] = False
        self.left[number] = 0
        while self.members and not self.members[-1]:
            self.members.pop()
            self.left.pop()

    def _free_number(self) -> int:
        if False not in self.members:
            self.members.append(False)
            self.left.append(0)
        return self.members.index(False)

    def absorb(self, other: "Group") -> dict[int, int]:
        """Take over a group that shares no row; return a map of its jobs' numbers, old to new."""
        numbers = {}
        for old, member in enumerate(other.members):
            if member:
                numbers[old] = new = self._free_number()
                self.members[new] = True
                self.left[new] = other.left[old]
        self.cells.absorb(other.cells, {1 << old: 1 << new for old, new in numbers.items()})
        return numbers

    def split(self) -> "Group":
        """Move the half with the most rows left to a new group, where they keep their numbers."""
        members = [number for number, member in enumerate(self.members) if member]
        # Jobs with the same number left are likely in step: a cut by size keeps them together.
        members.sort(key=lambda number: self.left[number])
        movers = members[len(members) // 2 :]
        other = Group(self.rule)
        other.cells = self.cells.restricted(sum(1 << number for number in movers))
        other.left = [left if number in movers else 0 for number, left in enumerate(self.left)]
        other.members = [number in movers for number in range(len(self.members))]
        for number in movers:
            self.leave(number)
        return other

    def draw(
        self, counts: Sequence[tuple[int, int]], rounds: int, bits: Bits
    ) -> dict[int, NDArray[np.int64]]:
        """Draw (job number, count) jointly in this many rounds; no count exceeds what is left."""
        players = sum(1 << number for number, _ in counts)
        equal = all(count == counts[0][1] for _, count in counts)
        # Every cell concerns all players or none, so all of them read the same row in every round.
        if equal and all(cell.mask & players in (0, players) for cell in self.cells if cell.rows):
            count = counts[0][1]
            rows = self.cells.take_many(players, count, bits)
            for number, _ in counts:
                self.left[number] -= count
            return {number: rows.copy() for number, _ in counts}
        return self._play(counts, rounds, bits)

    def _play(
        self, counts: Sequence[tuple[int, int]], rounds: int, bits: Bits
    ) -> dict[int, NDArray[np.int64]]:
        rows: list[int] = []
        readers: list[int] = []
        left = self.left
        parts = self._parts(sum(1 << number for number, _ in counts), rounds)
        before = 0
        numbers: list[int] = []
        for players in players_by_round([(1 << number, n) for number, n in counts], rounds):
            if not players:
                continue
            if players != before:
                before = players
                numbers = [bit.bit_length() - 1 for bit in bits_of(players)]
            picks = self._round(players, parts, bits)
            rows += self.cells.play(picks, bits)
            readers += [takers for _, takers in picks]
            for number in numbers:
                left[number] -= 1
        return _by_job(rows, readers, [number for number, _ in counts])

    def _round(self, players: int, parts: list[Part], bits: Bits) -> list[Pick]:
        picks: list[Pick] = []
        for place, part in enumerate(parts):
            if isinstance(part, Table):
                if part.refused > FEWEST_REFUSALS + part.pairs // RENEW:
                    part = parts[place] = Table(self.cells, part.jobs)
                if players & part.jobs:
                    picks += part.draw(self.cells, players & part.jobs, self.left, bits)
            elif players & part:
                rule = common_rule if self.rule == "common" else paper_rule
                picks += rule(self.cells, self._players(players & part), bits)
        return picks

    def _players(self, mask: int) -> list[Player]:
        return [(self.left[bit.bit_length() - 1], bit) for bit in bits_of(mask)]

    def _parts(self, everybody: int, rounds: int) -> list[Part]:
        """Return which jobs of a draw play together, and how.

        Rounds in which only some take part use the same tables: that shares as much as a table per
        set of players would, and there can be as many such sets as there are speeds. For the same
        reason a set of jobs plays the table of all jobs in their pass until it has played EARN
        rounds per cell together, which is when a table of its own pays off.
        """
        if self.rule != "shared":
            return [everybody]
        if self._version != self.cells.version:
            self._version = self.cells.version
            self._tables.clear()
            self._played.clear()
        if len(self.cells) <= FEW_CELLS and everybody.bit_count() < 3:
            return list[Part](connected(self.cells, everybody))
        if everybody not in self._tables:
            in_pass = sum(1 << number for number, left in enumerate(self.left) if left)
            played = self._played[everybody] = self._played.get(everybody, 0) + rounds
            if everybody != in_pass and played < EARN * len(self.cells):
                return self._parts(in_pass, 0)
            if len(self._tables) == MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[everybody] = [
                Table(self.cells, part) for part in connected(self.cells, everybody)
            ]
        return self._tables[everybody]


def connected(cells: Cells, players: int) -> list[int]:
    """Split the players into parts, as masks, such that no cell concerns two parts."""
    parts = bits_of(players)
    for mask in {cell.mask & players: None for cell in cells if cell.rows}:
        if mask & (mask - 1):
            touched = [part for part in parts if part & mask]
            if len(touched) > 1:
                parts = [part for part in parts if not part & mask]
                parts.append(sum(touched))
    return sorted(parts)


def _by_job(
    rows: Sequence[int], readers: Sequence[int], numbers: Sequence[int]
) -> dict[int, NDArray[np.int64]]:
    """Sort the rows by the jobs that read them; each job's rows stay in order."""
    # There are few distinct masks, so each job tests the masks, not every row.
    kinds: dict[int, int] = {}
    kind = np.array([kinds.setdefault(mask, len(kinds)) for mask in readers], np.intp)
    drawn = np.array(rows, np.int64)
    result = {}
    for number in numbers:
        reads = np.array([bool(mask >> number & 1) for mask in kinds], np.bool_)
        result[number] = drawn[reads[kind]]
    return result


def players_by_round(counts: Sequence[tuple[int, int]], rounds: int) -> list[int]:
    """Return for each round the mask of its players, from (bit, count) with count <= rounds."""
    everybody = sum(bit for bit, count in counts if count == rounds)
    masks = [everybody] * rounds
    for bit, count in counts:
        if count != rounds:
            for number in range(count):
                # The round in which the number of rows that are due reaches number + 1.
                masks[-(-(number + 1) * rounds // count) - 1] |= bit
    return masks
