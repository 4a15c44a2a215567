"""What each claimant has had of all workers of the node, divided by its share.

A *claimant* is a recipe, for the rows that all its readers share, or one job, for its own parts.
Its account counts the seconds that workers computed for it, over its share. The claimant with the
smallest account comes next, so all get time in proportion to their shares. A claimant that waited
for nothing has saved up nothing: when it comes back, its account is raised to that of the claimant
whose turn it was last, but for SAVED_S: for a moment, all that waits may be handed out, and come
back with the next report.

Under a policy that reserves, an account also has a *quota*; with a ceiling for the node, all have
one in common. A quota is a token bucket of worker-seconds. What is handed out is taken before its
cost is known exactly, so a bucket may go below empty; nobody draws from it until it has filled
again. It holds at most BURST_S of its rate: a claimant that left it alone for a while may not make
up for that later.

Not here: how large shares are (allocation.py), what waits (claims.py).
"""

# Of worker time: a chunk or two, so that it never shows in a rate.
SAVED_S = 0.08
# For a claimant whose orders are all in workers' hands: it is not away, but must not save for ever.
AT_WORK_SAVED_S = 1.0
# No share is less: what is divided by it must stay finite.
_LEAST_SHARE = 1e-3


class Account:
    """The account of one claimant."""

    __slots__ = ("_book", "_share", "quota", "spent_s", "used_s")

    def __init__(self, book: "Accounts") -> None:
        """Begin where the others are."""
        self._book = book
        self._share = 1.0
        self.quota: Quota | None = None
        self.spent_s = 0.0  # over its share
        self.used_s = 0.0  # in all

    @property
    def share(self) -> float:
        """What it gets relative to other claimants: only ratios matter."""
        return self._share

    @share.setter
    def share(self, share: float) -> None:
        # It stays as many seconds before or behind the others as it was: time it has had counts by
        # the share that it had then.
        ahead_s = (self.spent_s - self._book.level_s) * self._share
        self._share = max(_LEAST_SHARE, share)
        self.spent_s = self._book.level_s + ahead_s / self._share

    @property
    def open(self) -> bool:
        """Whether anything may be handed out for it now."""
        ceiling = self._book.ceiling
        return (self.quota is None or self.quota.open) and (ceiling is None or ceiling.open)

    def charge(self, seconds: float) -> None:
        """Note that workers computed for it; below 0: it was charged too much."""
        self.spent_s += seconds / self._share
        self.used_s += seconds
        if self.quota is not None:
            self.quota.take(seconds)
        if self._book.ceiling is not None:
            self._book.ceiling.take(seconds)

    def take_turn(self) -> None:
        """Note that it is its turn."""
        self._book.level_s = max(self._book.level_s, self.spent_s)

    def come_back(self, was_at_work: bool = False) -> None:
        """Raise it to the level of the others, after it had no orders waiting.

        `was_at_work`: only because all its orders were in workers' hands.
        """
        saved_s = AT_WORK_SAVED_S if was_at_work else SAVED_S
        self.spent_s = max(self.spent_s, self._book.level_s - saved_s / self._share)

    def forgive(self) -> None:
        """Let it be neither far before nor far behind the others: other rules apply from now on."""
        most = SAVED_S / self._share
        level_s = self._book.level_s
        self.spent_s = min(max(self.spent_s, level_s - most), level_s + most)


class Accounts:
    """The accounts of all claimants of a node, and their common ceiling."""

    def __init__(self) -> None:
        """Start without any."""
        self.recipes: dict[str, Account] = {}  # by the code that prepares them
        self.jobs: dict[int, Account] = {}  # for their own parts
        self.ceiling: Quota | None = None  # of all together
        self.level_s = 0.0  # the account whose turn it was last, before that turn

    def of_recipe(self, code: str) -> Account:
        """Return the account of a recipe."""
        return self.recipes.setdefault(code, Account(self))

    def of_job(self, job: int) -> Account:
        """Return the account of a job's own parts."""
        return self.jobs.setdefault(job, Account(self))

    def forgive(self) -> None:
        """Let all begin together."""
        for account in (*self.recipes.values(), *self.jobs.values()):
            account.forgive()

    def pass_time(self, now: float) -> None:
        """Let all quotas fill until now."""
        for quota in self._quotas():
            quota.pass_time(now)

    @property
    def opens_in_s(self) -> float:
        """How long until a quota opens; 0 if none is closed."""
        closed = [quota.opens_in_s for quota in self._quotas() if not quota.open]
        return min(closed, default=0.0)

    def _quotas(self) -> "list[Quota]":
        accounts = (*self.recipes.values(), *self.jobs.values())
        found = [account.quota for account in accounts if account.quota is not None]
        return [*found, self.ceiling] if self.ceiling is not None else found


# Longer than a chunk: else a claimant with one worker would stop after each.
BURST_S = 0.2
# It is checked again no sooner than this: less than a chunk, and more than a turn of the loop.
_SOON_S = 0.002


class Quota:
    """A token bucket of worker-seconds that fills as time passes."""

    __slots__ = ("_at", "left_s", "rate")

    def __init__(self, rate: float, now: float) -> None:
        """Start full."""
        self.rate = rate
        self.left_s = rate * BURST_S
        self._at = now

    def pass_time(self, now: float) -> None:
        """Let it fill until now."""
        gone_s = max(0.0, now - self._at)
        self._at = max(now, self._at)
        self.left_s = min(self.rate * BURST_S, self.left_s + self.rate * gone_s)

    def take(self, seconds: float) -> None:
        """Take seconds out; below 0: too much was taken before."""
        self.left_s -= seconds

    @property
    def open(self) -> bool:
        """Whether anything may be handed out."""
        return self.left_s > 0.0

    @property
    def opens_in_s(self) -> float:
        """How long until something may be handed out."""
        return 0.0 if self.open else max(_SOON_S, -self.left_s / self.rate)
