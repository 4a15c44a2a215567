"""From measurements to shares: what each claimant needs, what the policy gives it, and why.

Computed now and then, for all jobs that have come and gone meanwhile; until the next time turns
follow the result, so a change of shares takes effect with the next chunk, and no worker is paused.

**Claimants.** A recipe, for what all its readers share; and each job, for its own parts. A job's
weight is one: it is split over the two by what they cost it. If k jobs take a row, each of them
is charged a part of it: a recipe has the weights of all its readers together. Ranks of one job
share its weight. A job that asks for nothing holds nothing.

Not here: how demand is measured (demand.py), the rules (policies/), turns (accounts.py,
feeding.py).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from joader.messages import JobSettings
from joader.schedule.limits.rate import Rate
from joader.schedule.shares.demand import Demand
from joader.schedule.shares.policies import FAIR, Need, Policy
from joader.schedule.work.accounts import Account, Quota
from joader.schedule.work.crew import Crew
from joader.schedule.work.flow import Home, Wish, max_min
from joader.schedule.work.flow import capacity as flow_capacity
from joader.schedule.work.staff import Staff
from joader.statistics import ReadStatistics, ShareStatistics, WorkStatistics

# A claimant that gets all it needs comes before others, because its need is not known exactly.
_HEADROOM = 1.5
_ENOUGH = 0.999
_LEAST_WEIGHT = 1e-3
# Costs of rows are told apart in steps of a quarter.
_COST_STEP = 1.25

NOWHERE_ELSE: Mapping[str, Home] = {}

Claimant = str | int  # a recipe's code, or a job for its own parts


@dataclass(frozen=True, slots=True)
class Grant:
    """What one claimant needs, and gets."""

    need: Need
    share: float  # worker-seconds per second

    @property
    def enough(self) -> bool:
        """Whether that is as much as its rows compute if its jobs never wait."""
        return self.share >= _ENOUGH * self.need.demand

    @property
    def part(self) -> float:
        """What it gets of what it needs, 1 at most; 0 if it wants all that there is."""
        if not self.need.demand:
            return 1.0
        return min(1.0, self.share / self.need.demand)


class Allocation:
    """The shares of a node."""

    def __init__(self, staff: Staff) -> None:
        """Set the accounts of this staff."""
        self._staff = staff
        self.policy: Policy = FAIR
        self.demands: dict[int, Demand] = {}  # by job
        self.grants: dict[Claimant, Grant] = {}
        self._used: dict[Claimant, Rate] = {}
        self._capacity = 0.0
        self._asked: tuple[object, ...] = ()  # what the flow was worked out for
        self._flow: list[float] = []

    def join(self, job: int, settings: JobSettings, team: str) -> None:
        """Note that a job has come."""
        self.demands[job] = Demand(settings.weight, team)

    def leave(self, job: int) -> None:
        """Forget a job."""
        self.demands.pop(job, None)
        self._staff.accounts.jobs.pop(job, None)

    def forget_gone(self) -> None:
        """Forget recipes that no job brings workers for any more."""
        accounts, codes = self._staff.accounts, {one.code for one in self._staff.crews.values()}
        for code in set(accounts.recipes) - codes:
            del accounts.recipes[code]
            self._staff.knee.forget(code)
            self._staff.storages.pop(code, None)
        kept = codes | set(self.demands)
        self._used = {one: rate for one, rate in self._used.items() if one in kept}

    def count(self, read: Mapping[int, ReadStatistics], now: float) -> None:
        """Note what jobs have got in all, and what workers have computed."""
        for job, demand in self.demands.items():
            if job in read:
                demand.counted(read[job].delivered, read[job].prepared, now)
        accounts = self._staff.accounts
        each: list[tuple[Claimant, Account]] = [*accounts.recipes.items(), *accounts.jobs.items()]
        for claimant, account in each:
            self._used.setdefault(claimant, Rate()).note(account.used_s, now)

    def work_out(
        self, capacity: float, now: float, homes: Mapping[str, Home] = NOWHERE_ELSE
    ) -> None:
        """Divide `capacity` worker-seconds per second among the claimants that read now.

        `homes`: where their workers run, if jobs have said so.
        """
        self._capacity = capacity
        needs = self._needs(now)
        as_known = [replace(need, row_s=_as_known(need.row_s)) for need in needs.values()]
        shares = self.policy.shares(as_known, capacity)
        if len(homes) > 1:
            shares = self._where_they_run(needs, shares, capacity, homes)
        grants = {one: Grant(needs[one], share) for one, share in zip(needs, shares, strict=True)}
        self.grants = grants
        accounts = self._staff.accounts
        for claimant, grant in grants.items():
            if isinstance(claimant, str):
                self._apply(accounts.of_recipe(claimant), grant, now)
            else:
                self._apply(accounts.of_job(claimant), grant, now)
        # A job that asks for nothing now may come back before the next time: as one of many, not
        # with what another policy gave it.
        each: list[tuple[Claimant, Account]] = [*accounts.recipes.items(), *accounts.jobs.items()]
        given = [account.share for claimant, account in each if claimant in grants]
        for claimant, account in each:
            if claimant not in grants:
                account.share, account.quota = sum(given) / len(given) if given else 1.0, None

    def _where_they_run(
        self,
        needs: Mapping[Claimant, Need],
        shares: list[float],
        capacity: float,
        homes: Mapping[str, Home],
    ) -> list[float]:
        """Return what claimants can get of these shares, and of what others leave, where they run.

        A flow is solved only when a claimant comes, goes, or wants clearly more or less.
        """
        wishes = []
        for (claimant, need), share in zip(needs.items(), shares, strict=True):
            most = share if self.policy.reserves else min(need.demand, capacity)
            weight = need.weight if self.policy is FAIR else max(_LEAST_WEIGHT, share)
            where = {crew.home for crew in self._crews_of(claimant)}
            wishes.append(Wish(_as_known(max(most, _LEAST_WEIGHT)), weight, frozenset(where)))
        asked = capacity, tuple(wishes), tuple(homes.items())
        if asked != self._asked:
            # A ceiling, or contention, leaves the same part of every home.
            part = min(1.0, capacity / flow_capacity(homes))
            less = {name: Home(part * home.bound, home.processors) for name, home in homes.items()}
            self._asked, self._flow = asked, max_min(wishes, less)
        return self._flow

    def _crews_of(self, claimant: Claimant) -> list[Crew]:
        """Return the crews that work for a claimant."""
        if isinstance(claimant, int):
            return [self._staff.crew_of[claimant]]
        return [crew for crew in self._crews(claimant) if crew.jobs]

    def _apply(self, account: Account, grant: Grant, now: float) -> None:
        if self.policy is FAIR:
            # Turns by weight are max–min by themselves: a claimant that wants less takes fewer
            # turns. So errors of measurement do no harm.
            account.share = grant.need.weight
        else:
            account.share = grant.share * (_HEADROOM if grant.enough else 1.0)
        if not self.policy.reserves:
            account.quota = None
        elif account.quota is None:
            account.quota = Quota(grant.share, now)
        else:
            account.quota.rate = grant.share

    def _needs(self, now: float) -> dict[Claimant, Need]:
        """Return what each claimant needs whose jobs read now."""
        reading = {job: one for job, one in self.demands.items() if self._reads(job, now)}
        ranks: dict[str, int] = {}
        for demand in reading.values():
            ranks[demand.team] = ranks.get(demand.team, 0) + 1
        needs: dict[Claimant, Need] = {}
        for crew_code in {self._staff.crew_of[job].code for job in reading if self._has_crew(job)}:
            jobs = [j for j in reading if self._has_crew(j) and self._code(j) == crew_code]
            row_s = self._row_s(crew_code)
            weight = rows_per_s = samples_per_s = 0.0
            for job in jobs:
                demand = reading[job]
                own_s = self._own_s(job)
                missed_s = demand.misses * row_s
                mine = demand.weight / (ranks[demand.team] if demand.team else 1)
                shared = missed_s / (missed_s + own_s) if missed_s + own_s > 0.0 else 1.0
                weight += mine * shared
                samples_per_s += demand.wanted_per_s
                rows_per_s += demand.wanted_per_s * demand.misses
                if own_s:
                    needs[job] = Need(
                        demand=demand.wanted_per_s * own_s,
                        weight=max(_LEAST_WEIGHT, mine * (1.0 - shared)),
                        row_s=own_s,
                        step_s=demand.step_s,
                    )
            needs[crew_code] = Need(
                demand=rows_per_s * row_s,
                weight=max(_LEAST_WEIGHT, weight),
                row_s=row_s,
                step_s=0.0 if math.isinf(samples_per_s) else 1.0 / samples_per_s,
            )
        return needs

    def _reads(self, job: int, now: float) -> bool:
        """Tell whether a job reads now; one that waits for long, for what is queued, does."""
        crew = self._staff.crew_of.get(job)
        return self.demands[job].reads(now) or (crew is not None and bool(crew.queue))

    def _has_crew(self, job: int) -> bool:
        return job in self._staff.crew_of

    def _code(self, job: int) -> str:
        return self._staff.crew_of[job].code

    def _row_s(self, code: str) -> float:
        """Return what a row of a recipe costs, by what its crews have seen of it."""
        paces = [crew.queue.shared.pace for crew in self._crews(code)]
        known = [pace.computing_s for pace in paces if pace.known]
        return sum(known) / len(known) if known else paces[0].computing_s

    def _crews(self, code: str) -> list[Crew]:
        return [crew for crew in self._staff.crews.values() if crew.code == code]

    def _own_s(self, job: int) -> float:
        """Return what an own part of a job costs; 0 if it has none."""
        if job not in self._staff.accounts.jobs:
            return 0.0
        return self._staff.crew_of[job].queue.own_pace.computing_s

    # Figures.

    def statistics(self, now: float) -> dict[int, ShareStatistics]:
        """Return what each job that brings workers needs, gets, and why."""
        found = {}
        for job, demand in self.demands.items():
            if not self._has_crew(job):
                continue
            found[job] = self._of_job(job, demand, now)
        return found

    def _of_job(self, job: int, demand: Demand, now: float) -> ShareStatistics:
        recipe, own = self.grants.get(self._code(job)), self.grants.get(job)
        work = self._work(job)
        if recipe is None or not self._reads(job, now):
            reason = "nothing of it waits for a worker now"
            return ShareStatistics(weight=demand.weight, reason=reason, work=work)
        part = self._part(job, recipe)
        share = part * recipe.share + (own.share if own else 0.0)
        needed = part * recipe.need.demand + (own.need.demand if own else 0.0)
        row_s = demand.misses * recipe.need.row_s
        predicted = [demand.wanted_per_s, part * recipe.share / row_s]
        if own:
            predicted.append(own.share / own.need.row_s)
        storage = self._staff.storages.get(self._code(job))
        if storage is not None and storage.per_s:
            predicted.append(part * storage.per_s / demand.misses)
        used = part * self._used_per_s(self._code(job)) + self._used_per_s(job)
        return ShareStatistics(
            weight=demand.weight,
            needed=_finite(needed),
            share=share,
            used=used,
            wanted_per_s=_finite(demand.wanted_per_s),
            predicted_per_s=min(predicted),
            per_s=demand.per_s,
            slowdown=demand.slowdown,
            reason=self._reason(recipe, own),
            work=work,
        )

    def _work(self, job: int) -> WorkStatistics:
        """Return what workers spend on a row that a job waits for, its own part included."""
        paces = [crew.queue.shared.pace for crew in self._crews(self._code(job))]
        known = [pace.parts_s for pace in paces if pace.known]
        rows = [sum(parts) / len(known) for parts in zip(*known, strict=True)]
        own = self._staff.crew_of[job].queue.own_pace.parts_s
        computing_s, storage_s, core_s = (
            row_s + own_s for row_s, own_s in zip(rows or [0.0] * 3, own, strict=True)
        )
        return WorkStatistics(
            computing_s=computing_s, storage_s=storage_s, core_s=core_s, own_s=sum(own)
        )

    def _used_per_s(self, claimant: Claimant) -> float:
        return self._used[claimant].per_s if claimant in self._used else 0.0

    def _part(self, job: int, recipe: Grant) -> float:
        """Return which part of a recipe's share is for one of its readers."""
        mine = self.demands[job]
        others = [
            one
            for other, one in self.demands.items()
            if self._has_crew(other) and self._code(other) == self._code(job)
        ]
        needed = sum(one.wanted_per_s * one.misses for one in others)
        if math.isfinite(needed) and needed > 0.0:
            return mine.wanted_per_s * mine.misses / needed
        return mine.weight / sum(one.weight for one in others)

    def _reason(self, recipe: Grant, own: Grant | None) -> str:
        short = [grant for grant in (recipe, own) if grant and not grant.enough]
        name = self.policy.name
        if self.policy.reserves:
            return f"{name}: this share is reserved, wanted or not"
        if not short:
            return f"{name}: as much as its rows compute"
        costly = max(short, key=lambda grant: grant.need.row_s)
        if self.policy is FAIR:
            return "fair: jobs that want more get equal shares, by weight"
        return (
            f"{name}: most samples per second; a row costs {1000 * costly.need.row_s:.3g} ms, and "
            "cheaper rows come first"
        )


def _as_known(row_s: float) -> float:
    """Return a cost as well as it is known: rows that cost nearly the same count as equal.

    Else a policy that puts cheaper rows first would turn round with every report.
    """
    return float(_COST_STEP ** round(math.log(row_s, _COST_STEP)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
