"""What a job would read, told from what it says of its steps."""

import math

import pytest

from joader.schedule.shares.demand import IDLE_S, Demand


def test_its_speed_is_known_while_it_starves() -> None:
    demand = Demand()
    assert demand.wanted_per_s == math.inf
    for n in range(50):
        demand.wanted(64, 0.1, 0.9, now=float(n))
    assert demand.wanted_per_s == pytest.approx(640)
    assert demand.step_s == pytest.approx(0.1 / 64)
    assert demand.slowdown == pytest.approx(10)


def test_a_checkpoint_in_between_says_little() -> None:
    demand = Demand()
    for n in range(50):
        demand.wanted(64, 0.1, 0.0, now=float(n))
    demand.wanted(64, 60.0, 0.0, now=110.0)
    assert demand.wanted_per_s > 640 / 2
    for n in range(50):
        demand.wanted(64, 0.1, 0.0, now=float(n))
    assert demand.wanted_per_s == pytest.approx(640, rel=0.02)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0, 0.0])
def test_what_cannot_be_is_not_believed(odd: float) -> None:
    demand = Demand()
    demand.wanted(64, odd, 0.0, now=1.0)
    demand.wanted(64, 0.1, odd if odd else -1.0, now=1.0)
    assert demand.wanted_per_s == math.inf


def test_what_is_shared_or_kept_need_not_be_prepared() -> None:
    demand = Demand()
    for n in range(40):
        demand.counted(delivered=100 * n, prepared=25 * n, now=n / 2)
    assert demand.per_s == pytest.approx(200)
    assert demand.misses == pytest.approx(0.25, abs=0.01)


def test_a_loader_that_asks_for_nothing_is_idle_and_slow_steps_are_not() -> None:
    demand = Demand()
    assert not demand.reads(now=0.0)
    demand.wanted(64, 0.1, 0.0, now=0.0)
    assert demand.reads(now=IDLE_S - 0.1)
    assert not demand.reads(now=IDLE_S + 0.1)
    slow = Demand()
    slow.wanted(64, 5.0, 0.0, now=0.0)
    assert slow.reads(now=15.0)
    assert not slow.reads(now=21.0)
