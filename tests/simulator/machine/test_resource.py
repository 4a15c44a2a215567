"""What several use at once, against time in small steps."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.simulator.machine.clock import Clock
from joader.simulator.machine.resource import Resource

USES = st.lists(
    st.tuples(st.integers(0, 40).map(lambda n: n / 20), st.integers(1, 40).map(lambda n: n / 20)),
    min_size=1,
    max_size=6,
)


def in_steps(uses: list[tuple[float, float]], cores: int, step: float) -> list[float]:
    """Return when each is done, if all share processors for a small step at a time."""
    left, ends, now = {}, [0.0] * len(uses), 0.0
    waiting = dict(enumerate(uses))
    while left or waiting:
        for number in [n for n, (at, _) in waiting.items() if at <= now + step / 2]:
            left[number] = waiting.pop(number)[1]
        rate = min(1.0, cores / len(left)) if left else 0.0
        now += step
        for number in list(left):
            left[number] -= rate * step
            if left[number] <= step / 1000:
                ends[number] = now
                del left[number]
    return ends


@settings(max_examples=40, deadline=None)
@given(uses=USES, cores=st.integers(1, 3))
def test_all_progress_alike(uses: list[tuple[float, float]], cores: int) -> None:
    clock = Clock()
    resource = Resource(clock, lambda users: min(1.0, cores / users))
    ends = [0.0] * len(uses)

    def begin(number: int, amount: float) -> None:
        def done() -> None:
            ends[number] = clock.now

        resource.use(amount, done)

    for number, (at, amount) in enumerate(uses):
        clock.after(at, lambda n=number, a=amount: begin(n, a))
    clock.run(1e9, lambda: False)
    assert ends == pytest.approx(in_steps(uses, cores, 0.002), abs=0.002 * (len(uses) + 2))
    assert resource.users == 0


def test_what_is_too_little_for_the_clock_is_done_all_the_same() -> None:
    clock = Clock()
    clock.now = 1e6
    resource = Resource(clock, lambda users: 1e12 / users)
    done: list[int] = []
    for number in range(3):
        resource.use(1e-9, lambda n=number: done.append(n))
    clock.run(2e6, lambda: False)
    assert sorted(done) == [0, 1, 2]
