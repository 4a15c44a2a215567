"""Who is to blame for a worker that is slow or dies."""

import pytest

from joader.schedule.work.blame import (
    Note,
    Pulse,
    SeenBefore,
    acts_in_s,
    could_answer,
    death,
    too_long,
    whose_fault,
)


def note(sample: int, since: float = 0.0, step: str = "reading the row") -> Note:
    return Note(sample, since, step)


def test_only_what_a_worker_was_at_is_to_blame_for_its_death() -> None:
    assert whose_fault([1, 2, 3], [note(2)], innocent=False) == ([2], [1, 3])


def test_all_it_had_is_to_blame_if_nothing_says_what_it_was_at() -> None:
    assert whose_fault([1, 2], [], innocent=False) == ([1, 2], [])
    assert whose_fault([1, 2], [note(9)], innocent=False) == ([1, 2], [])


def test_nothing_is_to_blame_for_a_worker_that_was_told_to_end() -> None:
    assert whose_fault([1, 2], [note(1)], innocent=True) == ([], [1, 2])


def test_what_is_slow_is_abandoned_only_when_it_is_seen_again() -> None:
    seen = SeenBefore()
    assert seen.again(1, [note(5)]) == []
    assert seen.again(2, [note(5)]) == []  # another worker's
    seen.end_look()
    assert seen.again(1, [note(5), note(6)]) == [note(5)]


def test_a_row_that_was_begun_anew_or_not_seen_in_between_is_not_seen_again() -> None:
    seen = SeenBefore()
    seen.again(1, [note(5, since=1.0)])
    seen.end_look()
    assert seen.again(1, [note(5, since=2.0)]) == []
    seen.end_look()
    seen.end_look()
    assert seen.again(1, [note(5, since=2.0)]) == []


def test_it_is_told_when_something_is_abandoned_once_one_is_half_way_there() -> None:
    assert acts_in_s([(note(1), 10.0)], now=4.9) is None
    assert acts_in_s([(note(1), 10.0), (note(2), 8.0)], now=5.0) == pytest.approx(3.0)
    assert acts_in_s([(note(1), 10.0)], now=30.0) == pytest.approx(0.1)


def test_a_death_is_told_with_its_signal_or_code_and_what_the_worker_was_at() -> None:
    assert death(-9).endswith("died (signal 9)")
    assert death(3).endswith("died (exit code 3)")
    assert "it is not known how" in death(None)
    assert death(-11, [note(1)], "trace").splitlines()[1] == "It was at: reading the row. trace"
    assert too_long(note(1), 2.5, 77, "").startswith("reading the row took more than 2.5 s")


@pytest.mark.parametrize(
    ("before", "now", "could"),
    [
        (Pulse(1.0, True), Pulse(1.01, True), False),  # a full machine
        (Pulse(1.0, True), Pulse(1.5, True), True),  # native code that holds the interpreter
        (Pulse(1.0, True), Pulse(1.0, False), True),  # stopped
        (None, Pulse(1.0, True), True),
        (Pulse(1.0, True), None, True),
    ],
)
def test_who_wants_a_processor_and_gets_none_could_not_answer(
    before: Pulse | None, now: Pulse | None, could: bool
) -> None:
    assert could_answer(before, now) is could
