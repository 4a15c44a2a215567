"""Virtual time: what is due comes in order, and nothing waits."""

import hypothesis.strategies as st
from hypothesis import given

from joader.simulator.machine.clock import Clock


@given(delays=st.lists(st.integers(-2, 5), max_size=12))
def test_what_is_due_happens_in_order_and_of_equals_the_first_that_was_planned(
    delays: list[int],
) -> None:
    clock, happened = Clock(), list[tuple[float, int]]()
    for number, delay in enumerate(delays):
        clock.after(delay, lambda n=number: happened.append((clock.now, n)))
    clock.run(1e9, lambda: False)
    assert happened == sorted((max(0.0, delay), n) for n, delay in enumerate(delays))


def test_what_follows_is_counted_from_now() -> None:
    clock, times = Clock(), list[float]()

    def again() -> None:
        times.append(clock.now)
        clock.after(2.0, again)

    clock.after(1.0, again)
    clock.run(6.0, lambda: False)
    assert times == [1.0, 3.0, 5.0]
    clock.run(100.0, lambda: len(times) == 5)
    assert times[3:] == [7.0, 9.0]
