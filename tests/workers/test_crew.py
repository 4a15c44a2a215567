"""Workers and the clock: code that is newer than they are must never reach them."""

import time

import pytest

from joader.memory import Arena
from joader.messages import Environment
from joader.workers.crew import Crew


def never(*_: object) -> float:
    raise AssertionError("a crew without processes asks for nothing")


@pytest.mark.parametrize("jump_s", [-3600.0, 0.0, 3600.0])
def test_a_clock_that_is_set_makes_a_crew_seem_older_and_never_younger(
    jump_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Arena(4096) as arena:
        environment = Environment("python", (), "/")
        asks = (never,) * 6
        crew = Crew(environment, arena, 1, 1, *asks, 0)  # type: ignore[arg-type]
        by_old_clock = time.time()
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + jump_s)
        # Files that are changed from now on are newer by the clock that dates them.
        assert crew.started <= time.time()
        # And what was changed before the clock was set, but after the start, still is.
        assert crew.started <= by_old_clock
        assert crew.started >= by_old_clock - 3600 - 5
