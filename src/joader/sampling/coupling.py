"""The default rule: a coupling that is computed now and then and corrected in every round.

**What it aims at.** In a round job j reads from cell c with probability p_j(c) = n_c / R_j. Draw u
in [0, 1) and let each job choose its cell by u: the jobs that choose the same cell share one row,
so the cost of the round is the number of cells that are open at u. A cell must be open for at least
max_j p_j(c), the share of its smallest job; the sum of this over the cells bounds the cost of any
rule from below. A cell that is open while the job with the largest remaining share is elsewhere
costs time without lowering its bound: *waste*. `schedule` fills [0, 1) greedily and opens cells
without waste if it can. On all cases of the paper it comes within 2 % of the bound, or of the
optimum that a linear program finds.

**Why it is exact.** A schedule is made for the sizes of some moment, with job j on cell c for a
share q_j(c). By the time of a round the sizes, and with them the shares p, have changed. A job
accepts the cell it is scheduled on with probability min(1, p/q), rounded down to a multiple of
2**-32; if it refuses, it draws from what is then missing from p, in integers. Its cell thus has
probability p_j(c) to the last bit, whatever the schedule was. All jobs of a round use the same
random number to accept, and the same one to draw again, so that equal jobs stay together. A stale
schedule costs sharing, never uniformity.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from joader.errors import OurError
from joader.sampling.bits import WORD, Bits
from joader.sampling.cells import Cell
from joader.sampling.rules import Pick

# A share of 1 is 2**60; the top 60 bits of a word choose the position in the schedule.
SHARE_BITS = 60
ACCEPT_BITS = 32
_SCALE_BITS = SHARE_BITS + ACCEPT_BITS

Block = tuple[int, int]  # number of a cell, mask of the jobs that are on it
Entry = tuple[int, int, int]  # job number, its bit, its share of the cell


def schedule(
    masks: Sequence[int], sizes: Sequence[int], jobs: int
) -> list[tuple[int, list[Block]]]:
    """Return stretches (length, blocks), at most 2**60 long in total: jobs by cell."""
    state = _Shares(masks, sizes, jobs)
    stretches: list[tuple[int, list[Block]]] = []
    while state.unplaced:
        blocks = state.choose()
        length = state.stretch(blocks)
        state.place(blocks, length)
        stretches.append((length, blocks))
    return stretches


class Table:
    """A schedule over real cells, and a round drawn from it."""

    def __init__(self, cells: Iterable[Cell], jobs: int) -> None:
        """Schedule these jobs on the cells as they are now."""
        homes = [cell for cell in cells if cell.mask & jobs and cell.rows]
        self.jobs = jobs
        self.refused = 0  # since the schedule was made
        self._shares: dict[Cell, dict[int, int]] = {}
        sizes = [len(cell) for cell in homes]
        left = [(bit, sum(len(c) for c in homes if c.mask & bit)) for bit in bits_of(jobs)]
        for cell in homes:
            self._shares[cell] = {
                bit: (len(cell) << SHARE_BITS) // total for bit, total in left if cell.mask & bit
            }
        self.pairs = sum(map(len, self._shares.values()))
        self._ends: list[int] = []
        self._stretches: list[list[tuple[Cell, tuple[Entry, ...]]]] = []
        end = 0
        for length, blocks in schedule([cell.mask for cell in homes], sizes, jobs):
            end += length
            self._ends.append(end)
            self._stretches.append(
                [(homes[number], self._entries(homes[number], on)) for number, on in blocks]
            )
        # What rounding down left over: no job is scheduled there, so all draw from what their
        # shares lack.
        self._stretches.append([])

    def _entries(self, cell: Cell, on: int) -> tuple[Entry, ...]:
        shares = self._shares[cell]
        return tuple((bit.bit_length() - 1, bit, shares[bit]) for bit in bits_of(on))

    def draw(self, cells: Iterable[Cell], todo: int, left: Sequence[int], bits: Bits) -> list[Pick]:
        """Play a round for the jobs of `todo`; `left` is what each has not read, by number."""
        blocks = self._stretches[bisect_right(self._ends, bits.word() >> (64 - SHARE_BITS))]
        accept = (bits.word() >> (64 - ACCEPT_BITS)) + 1
        picks: list[Pick] = []
        undecided = todo
        # The schedule covers all jobs of the table; those that sit this round out are masked off.
        for cell, entries in blocks:
            limit = len(cell.rows) << _SCALE_BITS
            takers = 0
            for job, bit, share in entries:
                # accept <= floor(p / q), with p / q = limit / (share * left)
                if accept * share * left[job] <= limit:
                    takers |= bit
            takers &= undecided
            if takers:
                undecided ^= takers
                picks.append((cell, takers))
        if undecided:
            self._draw_missing(picks, cells, undecided, left, bits)
        return picks

    def _draw_missing(
        self, picks: list[Pick], cells: Iterable[Cell], todo: int, left: Sequence[int], bits: Bits
    ) -> None:
        """Let the jobs that refused draw from what their shares lack."""
        # One number for all of them: jobs that lack the same shares land on the same cell.
        fraction = bits.word() << 64 | bits.word()
        for bit in bits_of(todo):
            self.refused += 1
            homes = [cell for cell in cells if cell.mask & bit and cell.rows]
            missing = self._missing(homes, bit, left[bit.bit_length() - 1])
            cell = homes[_place(missing, fraction, bits)]
            for number, (other, takers) in enumerate(picks):
                if other is cell:
                    picks[number] = (cell, takers | bit)
                    break
            else:
                picks.append((cell, bit))

    def _missing(self, homes: Iterable[Cell], bit: int, left: int) -> list[int]:
        """Return for each cell p minus the chance that the job is scheduled there and accepts."""
        missing = []
        for cell in homes:
            limit = len(cell.rows) << _SCALE_BITS
            shares = self._shares.get(cell)
            if shares is not None and bit in shares:
                # The acceptance test of `draw`, in the same integers: any other rounding here
                # would make the sum of both ways differ from p.
                full = shares[bit] * left
                certain = full << ACCEPT_BITS
                limit -= certain if certain <= limit else full * (limit // full)
            missing.append(limit)
        return missing


class _Shares:
    """The part of each job's time on each cell that is not placed yet."""

    def __init__(self, masks: Sequence[int], sizes: Sequence[int], jobs: int) -> None:
        totals = {
            bit: sum(n for mask, n in zip(masks, sizes, strict=True) if mask & bit)
            for bit in bits_of(jobs)
        }
        self._share: list[dict[int, int]] = []
        self._on: list[int] = []  # jobs with a share left
        self._lead: list[int] = []  # largest share left
        self._rank: list[int] = []  # sorts cells by number of jobs, then by the largest share
        self._leaders: list[int] = []  # jobs that have the largest share
        self._time = dict.fromkeys(totals, 0)  # by job, all its shares
        for mask, size in zip(masks, sizes, strict=True):
            shares = {bit: (size << SHARE_BITS) // totals[bit] for bit in bits_of(mask & jobs)}
            shares = {bit: share for bit, share in shares.items() if share}
            self._share.append(shares)
            self._on.append(sum(shares))
            self._lead.append(0)
            self._rank.append(0)
            self._leaders.append(0)
            self._find_leaders(len(self._share) - 1)
            for bit, share in shares.items():
                self._time[bit] += share
        self.unplaced = sum(bit for bit, time in self._time.items() if time)
        self._alive = [number for number, on in enumerate(self._on) if on]

    def choose(self) -> list[Block]:
        """Put every job on a cell: without waste if possible, and with as many others as can be."""
        todo = self.unplaced
        on, leaders, rank = self._on, self._leaders, self._rank
        enough = 0
        self._alive.sort(key=rank.__getitem__, reverse=True)
        blocks: list[Block] = []
        while todo:
            best, best_count, best_clean = -1, 0, False
            most = todo.bit_count()
            for number in self._alive:
                if best_clean and rank[number] < enough:
                    break  # sorted by number of jobs: no later cell can hold more together
                together = on[number] & todo
                if together:
                    # Clean: all leaders are still free to be put here, so that nothing is wasted.
                    clean = not leaders[number] & ~todo
                    count = together.bit_count()
                    if clean > best_clean or (clean == best_clean and count > best_count):
                        best, best_count, best_clean = number, count, clean
                        enough = count + 1 << SHARE_BITS + 1
                        if clean and count == most:
                            break
            blocks.append((best, on[best] & todo))
            todo &= ~on[best]
        return blocks

    def stretch(self, blocks: Sequence[Block]) -> int:
        """Return how long this can go on until a share ends or a cell gets other leaders."""
        length = 1 << SHARE_BITS
        for number, together in blocks:
            shares = self._share[number]
            length = min(length, *(shares[bit] for bit in bits_of(together)))
            elsewhere = self._on[number] & ~together
            # Beyond the gap a job that is elsewhere would lead here, and the block would be waste.
            if elsewhere:
                gap = self._lead[number] - max(shares[bit] for bit in bits_of(elsewhere))
                if gap:
                    length = min(length, gap)
        return length

    def place(self, blocks: Sequence[Block], length: int) -> None:
        """Take this much off the shares of the blocks."""
        emptied = False
        for number, together in blocks:
            shares = self._share[number]
            for bit in bits_of(together):
                shares[bit] -= length
                self._time[bit] -= length
                if not shares[bit]:
                    del shares[bit]
                    self._on[number] ^= bit
                if not self._time[bit]:
                    self.unplaced ^= bit
            if shares:
                self._find_leaders(number)
            else:
                emptied = True
        if emptied:
            self._alive = [number for number in self._alive if self._on[number]]

    def _find_leaders(self, number: int) -> None:
        shares = self._share[number]
        lead = max(shares.values(), default=0)
        self._lead[number] = lead
        self._rank[number] = (len(shares) << SHARE_BITS + 1) + lead
        self._leaders[number] = sum(bit for bit, share in shares.items() if share == lead)


def bits_of(mask: int) -> list[int]:
    """Return the single bits of a mask, lowest first."""
    bits = []
    while mask:
        low = mask & -mask
        bits.append(low)
        mask ^= low
    return bits


def _place(weights: Sequence[int], fraction: int, bits: Bits) -> int:
    """Return an index with probability proportional to its weight, from 128 random bits."""
    total = sum(weights)
    square = WORD * WORD
    scaled = fraction * total
    while scaled % square < square % total:  # Lemire's rejection: these would favor some results
        scaled = (bits.word() << 64 | bits.word()) * total
    place = scaled // square
    for number, weight in enumerate(weights):
        if place < weight:
            return number
        place -= weight
    raise OurError(f"position {place} of {total} is past the last weight; please report this")
