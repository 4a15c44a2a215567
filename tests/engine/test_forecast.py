"""When rows will be asked for next, of jobs whose orders are known."""

import numpy as np

from joader.engine.forecast import Forecast
from joader.engine.limits import Limits
from joader.engine.plan import Drawn, plan_of
from joader.engine.reader import Reader, Terms
from joader.engine.recipes import Recipe
from joader.engine.samplers import Samplers, sampler_of
from joader.messages import Begin, Join
from joader.sampling.job_rows import JobRows

ROWS, BASE, PER_S = 60, 1000, 4.0


def reader(
    recipe: Recipe, job: int, order: str, rows: np.ndarray | None = None, fresh: bool = False
) -> Reader:
    """Return a job that has begun a pass, and reads four rows a second."""
    mine = np.arange(recipe.row_limit) if rows is None else rows
    join = Join(job, recipe.name, mine, recipe.row_limit, 4, order=order, seed=job)
    numbered = JobRows(mine, recipe.row_limit)
    plan = plan_of(join, job, numbered, recipe.samplers, f"process {job}")
    made = Reader(job, recipe, numbered, 4, Limits(), plan, Terms(fresh=fresh))
    made.pace.per_s = PER_S
    plan.begin(Begin(job), 0)
    return made


def recipe(base: int = BASE, rows: int = ROWS) -> Recipe:
    return Recipe("photos", rows, base, Samplers(sampler_of, 1))


def draw(one: Reader, count: int) -> list[int]:
    """Draw so many, leave them unread, and return their rows."""
    assert isinstance(one.plan, Drawn)
    before = len(one.window.homes)
    one.drew(one.plan.sampler.draw({one.plan.name: count})[one.plan.name])
    return [home - one.recipe.base for home in one.window.homes[before:]]


def test_streams_and_own_orders_say_when_each_row_comes() -> None:
    for order, more in (("shared", 0.0), ("seeded", 1 / PER_S), ("given", 1 / PER_S)):
        forecast, one = Forecast(), reader(recipe(), 1, order)
        draw(one, 10)
        assert forecast.enter(one)
        told = forecast.seconds_until(np.arange(BASE, BASE + ROWS))
        coming = draw(one, ROWS - 10)
        # Ten are drawn and not read.
        expected = (10 + np.arange(ROWS - 10)) / PER_S + more
        assert np.allclose(told[coming], expected), order
        read = np.setdiff1d(np.arange(ROWS), coming)
        assert np.allclose(told[read], (10 + ROWS - 10 + ROWS / 2) / PER_S + more)


def test_what_is_of_use_once_is_not_needed_again() -> None:
    for order in ("shared", "seeded"):
        forecast, one = Forecast(), reader(recipe(), 1, order, fresh=True)
        gone = draw(one, 10)
        forecast.enter(one)
        told = forecast.seconds_until(np.arange(BASE, BASE + ROWS))
        assert np.isinf(told[gone]).all()
        assert np.isfinite(np.delete(told, gone)).all()


def test_the_first_of_several_jobs_counts_and_rows_of_other_recipes_are_theirs() -> None:
    forecast, mine, other = Forecast(), recipe(), recipe(base=0, rows=50)
    slow, fast, else_ = (
        reader(mine, 1, "shared"),
        reader(mine, 2, "shared"),
        reader(other, 3, "given"),
    )
    fast.pace.per_s = 100 * PER_S
    for one in (slow, fast, else_):
        draw(one, 5)
        forecast.enter(one)
    homes = np.array([7, BASE + 7, BASE + ROWS, 49])
    told = forecast.seconds_until(homes)
    assert told[0] == (5 + 2 + 1) / PER_S  # row 7 of those in order, five of which are drawn
    assert np.isinf(told[2])
    forecast.leave(fast)
    assert forecast.seconds_until(homes)[1] > told[1]
    assert forecast.seconds_until(homes)[3] == told[3]


def test_a_row_that_stands_there_twice_counts_by_its_next_place() -> None:
    rows = np.array([3, 1, 3, 2, 1, 3])
    forecast, one = Forecast(), reader(recipe(rows=5), 1, "given", rows=rows)
    forecast.enter(one)
    draw(one, 1)
    told = forecast.seconds_until(BASE + np.array([3, 1, 2, 4])) * PER_S
    assert told.tolist() == [1 + 1 + 1, 1 + 0 + 1, 1 + 2 + 1, np.inf]


def test_joint_draws_and_who_has_not_drawn_say_nothing() -> None:
    forecast = Forecast()
    assert not forecast.enter(reader(recipe(), 1, "joint"))
    assert forecast.enter(reader(recipe(), 2, "shared"))
    assert np.isinf(forecast.seconds_until(np.arange(BASE, BASE + ROWS))).all()


def test_sets_that_a_stream_draws_jointly_are_not_known() -> None:
    forecast, mine = Forecast(), recipe()
    for job, some in ((1, ROWS), (2, ROWS // 4)):
        one = reader(mine, job, "shared", rows=np.arange(some))
        draw(one, 2)
        forecast.enter(one)
    assert np.isnan(forecast.seconds_until(np.arange(BASE, BASE + ROWS))).all()


def test_one_row_is_told_as_among_many() -> None:
    """Whatever the passes are: late, jumped, in their tails, of some of the rows."""
    dice = np.random.default_rng(3)
    for _ in range(20):
        forecast, mine, other = Forecast(), recipe(), recipe(base=0, rows=50)
        mine.samplers.sampler("shared")
        mine.samplers.set_reach(int(dice.integers(4, 20)))
        sets = [np.arange(ROWS), np.arange(ROWS), np.arange(5, ROWS), np.repeat(np.arange(30), 2)]
        readers = [
            reader(mine, job, "shared", rows=sets[dice.integers(4)], fresh=bool(dice.integers(2)))
            for job in range(3)
        ]
        readers.append(reader(other, 9, "seeded"))
        for _ in range(8):
            for one in readers:
                if one.plan.undrawn:
                    draw(one, min(one.plan.undrawn, int(dice.integers(1, 12))))
                forecast.enter(one)
            homes = np.r_[0:60, BASE - 3 : BASE + ROWS + 3]
            told = forecast.seconds_until(homes)
            one_by_one = [forecast.seconds_until_one(int(home)) for home in homes]
            assert np.allclose(told, one_by_one, equal_nan=True)


def test_rows_of_other_recipes_are_never_asked_for() -> None:
    """Samples of recipes that were left stay, with numbers below and above those that are read."""
    others = np.r_[np.arange(BASE - ROWS, BASE), np.arange(BASE + ROWS, BASE + 3 * ROWS)]
    for order in ("shared", "seeded", "given"):
        twice = np.tile(np.arange(ROWS), 2)
        for rows in (None, twice):
            forecast, one = Forecast(), reader(recipe(), 1, order, rows)
            draw(one, 10)
            assert forecast.enter(one)
            assert np.isinf(forecast.seconds_until(others)).all(), order
