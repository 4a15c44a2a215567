"""How long a pass waits for a late batch, by what the daemon says of it."""

import pytest

from joader.client.reading.delivery import MOST_PATIENCE, Patience
from joader.errors import Overdue
from joader.messages import Why


class Daemon:
    """Stands for a connection: gives one answer to every question."""

    daemon_pid = 7

    def __init__(self, why: Why) -> None:
        self.why = why

    def ask(self, question: object, kind: type, timeout_s: float) -> Why:
        assert kind is Why
        return self.why


def test_a_row_that_is_given_up_soon_is_waited_for_once_per_batch() -> None:
    daemon, patience = Daemon(Why("row 3 is slow", more_s=2.0)), Patience()
    assert 2.0 < patience.more_s(daemon, 10.0) < 10.0  # type: ignore[arg-type]
    with pytest.raises(Overdue, match=r"process 7\) in 10 s: row 3 is slow. See `joader status`"):
        patience.more_s(daemon, 10.0)  # type: ignore[arg-type]
    patience.begin()
    assert patience.more_s(daemon, 10.0) > 2.0  # type: ignore[arg-type]


def test_other_ranks_are_waited_for_a_bounded_number_of_times() -> None:
    daemon, patience = Daemon(Why("rank 0 has not asked", patience=True)), Patience()
    for _ in range(MOST_PATIENCE):
        assert patience.more_s(daemon, 10.0) == 10.0  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 10 seconds: .* not asked"):
        patience.more_s(daemon, 10.0)  # type: ignore[arg-type]


def test_what_takes_longer_than_the_timeout_is_overdue_at_once() -> None:
    with pytest.raises(Overdue):
        Patience().more_s(Daemon(Why("row 3 is slow", more_s=99.0)), 10.0)  # type: ignore[arg-type]
