"""Joint draws: as many for each as it reads in the same time, and the cache knows of them."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from joader.cache import Cache
from joader.engine.limits import Limits
from joader.engine.plan import Drawn, Followed
from joader.engine.planner import FULL, LONGEST, MOST, STEP, Planner
from joader.engine.reader import Reader, Terms
from joader.engine.recipes import Recipe
from joader.engine.samplers import Samplers, sampler_of
from joader.messages import Begin
from joader.sampling import DependentSampler
from joader.sampling.job_rows import JobRows

ROWS = 10_000


class Counting(DependentSampler):
    """A sampler that notes what is asked of it."""

    def __init__(self) -> None:
        super().__init__(0)
        self.counts: list[dict[int, int]] = []

    def draw(self, counts):  # type: ignore[no-untyped-def]
        self.counts.append(dict(counts))
        return super().draw(counts)


class Noting(Cache):
    """A cache that notes which plans it was told."""

    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.plans: dict[int, float] = {}
        self.rates: dict[object, float] = {}

    def rate(self, job: object, per_s: float) -> None:
        self.rates[job] = per_s

    def plan(self, samples: Iterable[int], when: float) -> None:
        self.plans.update(dict.fromkeys(samples, when))

    def unplan(self, samples: Iterable[int]) -> None:
        for sample in samples:
            del self.plans[sample]


def reader(job: int, recipe: Recipe, pace: float, rows: int = ROWS) -> Reader:
    its = JobRows(np.arange(rows), ROWS)
    plan = Drawn(job, its, recipe.samplers.sampler("joint"), None)
    made = Reader(job, recipe, its, 8, Limits(), plan, Terms())
    made.pace.known, made.pace.per_s = True, pace
    made.in_pass = True
    plan.begin(Begin(job, key=1), life=0)
    return made


def recipe() -> Recipe:
    return Recipe("photos", ROWS, 0, Samplers(lambda order, seed: Counting(), 0))


def planned(*readers: Reader) -> set[int]:
    return {home for reader in readers for home in reader.window.homes}


def test_equal_jobs_draw_all_rounds_together_though_one_is_a_batch_ahead() -> None:
    of = recipe()
    one, other = reader(1, of, 540.0), reader(2, of, 460.0)  # as it seems at some moment
    planner = Planner(Noting())
    planner.top_up([one, other])
    for step in range(100):
        for each in (one, other) if step % 2 else (other, one):
            del each.window.places[:8], each.window.homes[:8]
            planner.top_up([one, other])
    assert len(of.samplers.sampler("joint").counts) > 10  # type: ignore[attr-defined]
    assert all(len(set(c.values())) == 1 for c in of.samplers.sampler("joint").counts)  # type: ignore[attr-defined]


def test_plans_are_as_long_in_time_for_a_slow_job_as_for_a_fast_one() -> None:
    of = recipe()
    slow, fast = reader(1, of, 20.0), reader(2, of, 80.0)
    cache = Noting()
    Planner(cache).top_up([slow, fast])
    assert cache.rates[2] == 4 * cache.rates[1]  # both have all their rows to read
    assert len(slow.window.places) == FULL * slow.look_ahead
    assert STEP**-0.5 <= len(fast.window.places) / (4 * len(slow.window.places)) <= STEP**0.5


def test_a_newcomer_draws_as_the_fastest_until_its_pace_is_known() -> None:
    of = recipe()
    going, newcomer = reader(1, of, 500.0), reader(2, of, 20.0)
    newcomer.pace.known = 0.0
    Planner(Noting()).top_up([going, newcomer])
    assert of.samplers.sampler("joint").counts[0][1] == of.samplers.sampler("joint").counts[0][2]  # type: ignore[attr-defined]


def test_a_job_that_is_hardly_read_does_not_make_others_plan_for_hours() -> None:
    of = recipe()
    idle, fast = reader(1, of, 1.0), reader(2, of, 500.0)
    Planner(Noting()).top_up([idle, fast])
    assert len(fast.window.places) <= MOST * LONGEST * fast.look_ahead


def test_a_job_that_does_not_take_what_is_planned_for_it_sits_out() -> None:
    of = recipe()
    stopped, going = reader(1, of, 500.0), reader(2, of, 500.0)
    planner = Planner(Noting())
    drawn = Counter[int]()
    for _ in range(50):
        planner.top_up([stopped, going])
        drawn[len(stopped.window.places)] += 1
        del going.window.places[:64], going.window.homes[:64]
    assert max(drawn) <= MOST * stopped.look_ahead
    assert going.plan.undrawn < stopped.plan.undrawn


def test_the_cache_knows_what_is_planned_and_forgets_what_is_read() -> None:
    of, cache = recipe(), Noting()
    one, other = reader(1, of, 500.0), reader(2, of, 500.0)
    planner = Planner(cache)
    planner.top_up([one, other])
    assert set(cache.plans) == planned(one, other)
    first = dict(cache.plans)
    del one.window.places[:], one.window.homes[:]
    planner.top_up([one, other])
    assert set(cache.plans) == planned(one, other)
    assert all(cache.plans[home] == first[home] for home in planned(one, other) & set(first))
    assert max(cache.plans.values()) > max(first.values())


def test_plans_of_jobs_that_left_are_forgotten() -> None:
    cache = Noting()
    planner = Planner(cache)
    planner.top_up([reader(1, recipe(), 500.0)])
    left = reader(2, recipe(), 500.0)
    planner.top_up([left])
    assert set(cache.plans) == planned(left)


def test_in_a_stream_each_draws_for_itself_as_far_as_it_looks_ahead() -> None:
    of = Recipe("photos", ROWS, 0, Samplers(sampler_of, 0))
    readers = []
    for job, pace in ((1, 20.0), (2, 800.0)):
        its = JobRows(np.arange(ROWS), ROWS)
        made = Reader(
            job, of, its, 8, Limits(), Followed(job, its, of.samplers, str(job), None), Terms()
        )
        made.pace.known, made.pace.per_s = True, pace
        made.note_rate(0, 0.0)
        made.plan.begin(Begin(job), life=0)
        readers.append(made)
    slow, fast = readers
    planner = Planner(Noting())
    planner.top_up(readers)
    assert len(slow.window.places) == FULL * slow.look_ahead
    assert len(fast.window.places) == FULL * fast.look_ahead
    before = list(slow.window.places)
    del fast.window.places[:-1], fast.window.homes[:-1]
    planner.top_up(readers)
    assert slow.window.places == before
    assert planner.behind(slow, readers) == len(fast.window.places)
