"""What waits for the workers of one loader, by claimant, and which claimant has the next turn.

A *claimant* is the recipe, for the rows that all its readers share, or one job, for its own parts.
Each has an account of worker-seconds (accounts.py), which is one for all crews of the node. Turns
go to the claimant that has had the least for its share, so one that wants less than its share gets
all it wants at once, and the others share the rest. Within a claimant, orders keep their order:
earliest need first. Rows that are prepared whole wait among the own parts of their job, because no
other job wants them or has the code; the recipe is charged for the row, and the job for its part.

An order is charged when it is handed out, by what such orders took recently, and corrected when its
worker reports how long it computed; waiting for a disk or a network is not charged.

While no other job reads the recipe, own parts come first: they complete batches, and the rows
behind them are for later batches of the same job.

Not here: which worker gets them (feeding.py), how long orders take (pace.py).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile

from joader.messages import Compare
from joader.schedule.limits.pace import RowPace, chunk_of
from joader.schedule.work.accounts import Account, Accounts
from joader.schedule.work.orders import Order, Own, Row, is_whole

# A worker counts as computing for this part of its time at least: it takes and gives messages, too.
_LEAST_COMPUTING = 0.02


class Claim:
    """One claimant: what waits for it here, and what it has had everywhere."""

    __slots__ = ("account", "pace", "queue")

    def __init__(self, pace: RowPace, account: Account) -> None:
        """Start with nothing; its orders take as long as `pace` says."""
        self.queue: deque[Row | Own] = deque()
        self.pace, self.account = pace, account

    def take(self, most: int) -> list[Row | Own]:
        """Take the next orders, and charge them."""
        queue = self.queue
        taken = [queue.popleft() for _ in range(min(most, len(queue)))]
        self.account.take_turn()
        self.charge(len(taken))
        return taken

    def charge(self, orders: int) -> None:
        """Charge orders that are handed out."""
        self.account.charge(orders * self.pace.computing_s)

    def took(self, computed_s: float, orders: int) -> None:
        """Note how long workers computed for orders that were charged when they were handed out."""
        self.account.charge(computed_s - orders * self.pace.computing_s)


class Claims:
    """All that waits for one crew."""

    def __init__(self, accounts: Accounts, code: str) -> None:
        """Start with nothing waiting for workers that have this code."""
        self._accounts = accounts
        self.shared = Claim(RowPace(), accounts.of_recipe(code))
        self.own_pace = RowPace()  # one loader has one `transform=`, whichever of its passes it is
        self.compares: deque[Compare] = deque()  # before all else: a job waits for each
        self.alone: deque[Row | Own] = deque()  # suspects: each is done alone
        self._own: dict[int, Claim] = {}  # by job
        # How many processors one worker keeps busy while it has something in hand; 0: not known.
        self.computing = 0.0

    def __len__(self) -> int:
        """Return how many orders wait."""
        own = sum(len(claim.queue) for claim in self._own.values()) if self._own else 0
        return len(self.shared.queue) + own + len(self.compares) + len(self.alone)

    def __iter__(self) -> Iterator[Order]:
        """Return all that waits, by claimant."""
        yield from self.compares
        yield from self.alone
        yield from self.shared.queue
        for claim in self._own.values():
            yield from claim.queue

    def of(self, order: Row | Own) -> Claim:
        """Return the claimant of an order."""
        if isinstance(order, Row) and not order.whole:
            return self.shared
        return self.own_of(order.job)

    def own_of(self, job: int) -> Claim:
        """Return the claimant for a job's own parts."""
        claim = self._own.get(job)
        if claim is None:
            claim = self._own[job] = Claim(self.own_pace, self._accounts.of_job(job))
        return claim

    @property
    def own_backlog_s(self) -> float:
        """How long one worker would take for all orders that no other crew can do."""
        if not self.own_pace.known:
            return 0.0
        rows_s, own_s = self.shared.pace.row_s, self.own_pace.row_s
        queues = (claim.queue for claim in self._own.values() if claim.queue)
        return sum(len(one) * (own_s + rows_s * is_whole(one[0])) for one in queues)

    def chunk_of(self, claim: Claim) -> int:
        """Return how many of a claimant's next orders make a chunk."""
        if is_whole(claim.queue[0]):
            return chunk_of(self.shared.pace.row_s + self.own_pace.row_s)
        return claim.pace.chunk

    def take(self, claim: Claim, most: int) -> list[Row | Own]:
        """Take a claimant's next orders that are alike, and charge them."""
        whole = is_whole(claim.queue[0])
        alike = takewhile(lambda order: is_whole(order) == whole, islice(claim.queue, most))
        taken = claim.take(sum(1 for _ in alike))
        if whole:
            self.shared.charge(len(taken))
        return taken

    def note(
        self, pace: RowPace, orders: int, seconds: float, computed_s: float, waited_s: float
    ) -> None:
        """Note how long orders of this pace took a worker."""
        rows, own = self.shared.pace, self.own_pace
        pace.note(seconds, orders, computed_s, waited_s)
        # An unknown pace has worked for 0 s.
        worked_s = rows.worked_s + own.worked_s
        computed_s = (rows.computing_s if rows.known else 0.0) + (
            own.computing_s if own.known else 0.0
        )
        self.computing = max(_LEAST_COMPUTING, computed_s / worked_s if worked_s > 0.0 else 1.0)

    def add_rows(self, rows: Iterable[Row], at_work: bool = False) -> None:
        """Have rows wait behind the others; `at_work`: workers are busy with those before them."""
        if not self.shared.queue:
            self.shared.account.come_back(at_work)
        self.shared.queue += rows

    def add_own(self, own: Own | Row, at_work: bool = False) -> None:
        """Have an own part, or a row with its own part, wait behind its job's others."""
        claim = self.of(own)
        if not claim.queue:
            claim.account.come_back(at_work)
        claim.queue.append(own)

    def put_back(self, orders: Iterable[Row | Own]) -> None:
        """Have orders that were handed out wait before the others of their claimants again."""
        for order in reversed(list(orders)):
            claim = self.of(order)
            claim.charge(-1)
            if is_whole(order):
                self.shared.charge(-1)
            claim.queue.appendleft(order)

    def next(self, alone_in_recipe: bool) -> Claim | None:
        """Return the claimant with the next turn, of those that may be handed more.

        `alone_in_recipe`: no other job waits for the rows that wait here.
        """
        chosen = self.shared if self.shared.queue and self.shared.account.open else None
        if self._own:
            own = [one for one in self._own.values() if one.queue and self._may(one)]
            if own:
                first = min(own, key=_spent)
                if chosen is None or alone_in_recipe or self.spent_s(first) <= _spent(chosen):
                    return first
        return chosen

    def _may(self, own: Claim) -> bool:
        """Tell whether more may be handed out for a job now."""
        return own.account.open and (self.shared.account.open or not is_whole(own.queue[0]))

    def spent_s(self, claim: Claim) -> float:
        """Return what counts when a claimant's next orders wait for their turn."""
        spent_s = claim.account.spent_s
        whole = is_whole(claim.queue[0])
        return max(spent_s, self.shared.account.spent_s) if whole else spent_s

    @property
    def most_spent_s(self) -> float:
        """The largest account of its claimants."""
        if not self._own:
            return self.shared.account.spent_s
        return max(self.shared.account.spent_s, *map(_spent, self._own.values()))

    def surrender(self) -> list[Row]:
        """Give up the rows that wait here, for others to do; own parts stay."""
        waiting = (*self.alone, *self.shared.queue)
        rows = [one for one in waiting if isinstance(one, Row) and not one.whole]
        self.alone = deque(order for order in self.alone if isinstance(order, Own) or order.whole)
        self.shared.queue.clear()
        return rows

    def forget(self, job: int) -> None:
        """Forget a job that has left, if nothing of it waits."""
        claim = self._own.get(job)
        if claim is not None and not claim.queue:
            del self._own[job]

    def clear(self) -> None:
        """Forget all that waits."""
        self.compares.clear()
        self.alone.clear()
        self.shared.queue.clear()
        self._own.clear()


def _spent(claim: Claim) -> float:
    return claim.account.spent_s
