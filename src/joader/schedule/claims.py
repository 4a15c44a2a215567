"""What waits for the workers of one loader, by who claims their time, and whose turn it is.

A *claimant* is the recipe, for the rows that all who read it share, or one job, for its own parts.
Each has an account of worker-seconds. Turns go to the claimant that has had the least for its
weight, so who wants less than an equal share gets all it wants at once, and the others share the
rest equally. Within a claimant, orders keep their order: earliest need first.

Who waited for nothing has saved up nothing: when it comes back, its account is raised to that of
the claimant whose turn it was last.
An order is charged when it is handed out, by what such orders took of late, and put right when its
worker says how long it took.

While nobody else reads the recipe, own parts come first: they complete batches, and the rows behind
them are for later batches of the same job.

Not here: which worker (feeding.py), how long orders take (pace.py).
"""

from collections import deque
from collections.abc import Iterable, Iterator

from joader.messages import Compare
from joader.schedule.orders import Order, Own, Row
from joader.schedule.pace import RowPace


class Claim:
    """One claimant: what waits for it, and what it has had."""

    __slots__ = ("pace", "queue", "spent_s", "weight")

    def __init__(self, pace: RowPace, weight: float = 1.0) -> None:
        """Start with nothing; its orders take as long as `pace` says."""
        self.queue: deque[Row | Own] = deque()
        self.pace, self.weight = pace, weight
        self.spent_s = 0.0  # of worker time, over its weight

    def take(self, most: int) -> list[Row | Own]:
        """Take the next orders, and charge them."""
        queue = self.queue
        taken = [queue.popleft() for _ in range(min(most, len(queue)))]
        self.charge(len(taken) * self.pace.row_s)
        return taken

    def charge(self, seconds: float) -> None:
        """Note that workers spent so long for it; less than 0: it was charged too much."""
        self.spent_s += seconds / self.weight

    def took(self, seconds: float, orders: int) -> None:
        """Note how long orders took that were charged when they were handed out."""
        self.charge(seconds - orders * self.pace.row_s)


class Claims:
    """All that waits for one crew."""

    def __init__(self) -> None:
        """Start with nothing waiting."""
        self.shared = Claim(RowPace())
        self.own_pace = RowPace()  # one loader has one `transform=`, whichever of its passes it is
        self.compares: deque[Compare] = deque()  # before all else: a job waits for each
        self.alone: deque[Row | Own] = deque()  # suspects: each is done alone
        self._own: dict[int, Claim] = {}  # by job
        self._level_s = 0.0  # what the one whose turn it was last had spent before it

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
        """Return whose order this is."""
        if isinstance(order, Row):
            return self.shared
        claim = self._own.get(order.job)
        if claim is None:
            claim = self._own[order.job] = Claim(self.own_pace)
        return claim

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Have rows wait behind the others."""
        self._raise(self.shared)
        self.shared.queue += rows

    def add_own(self, own: Own) -> None:
        """Have an own part wait behind its job's others."""
        claim = self.of(own)
        self._raise(claim)
        claim.queue.append(own)

    def put_back(self, orders: Iterable[Row | Own]) -> None:
        """Have orders wait before the others of their claimants, in their order."""
        for order in reversed(list(orders)):
            claim = self.of(order)
            self._raise(claim)
            claim.queue.appendleft(order)

    def next(self, alone_in_recipe: bool) -> Claim | None:
        """Return whose turn it is.

        `alone_in_recipe`: nobody else waits for the rows that wait here.
        """
        chosen = self.shared if self.shared.queue else None
        waiting = [claim for claim in self._own.values() if claim.queue] if self._own else ()
        if waiting:
            own = min(waiting, key=_spent)
            if chosen is None or alone_in_recipe or own.spent_s <= chosen.spent_s:
                chosen = own
        if chosen is not None:
            self._level_s = max(self._level_s, chosen.spent_s)
        return chosen

    def surrender(self) -> list[Row]:
        """Give up the rows that wait here, for others to do; own parts stay."""
        rows = [order for order in (*self.alone, *self.shared.queue) if isinstance(order, Row)]
        self.alone = deque(order for order in self.alone if not isinstance(order, Row))
        self.shared.queue.clear()
        return rows

    def forget(self, job: int) -> None:
        """Close the account of a job that has left, if nothing of it waits."""
        claim = self._own.get(job)
        if claim is not None and not claim.queue:
            del self._own[job]

    def clear(self) -> None:
        """Forget all that waits."""
        self.compares.clear()
        self.alone.clear()
        self.shared.queue.clear()
        self._own.clear()

    def _raise(self, claim: Claim) -> None:
        """Let a claimant that waited for nothing begin where the others are."""
        if not claim.queue and claim.spent_s < self._level_s:
            claim.spent_s = self._level_s


def _spent(claim: Claim) -> float:
    return claim.spent_s
