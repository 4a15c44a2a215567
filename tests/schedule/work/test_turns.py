"""Who asks next."""

from joader.schedule.work.turns import Turns


def test_who_would_run_dry_first_comes_first() -> None:
    turns = Turns([(3.0, "slow"), (1.0, "fast"), (2.0, "middle")])
    order = []
    while turns:
        order.append(turns.next)
        turns.leave()
    assert order == ["fast", "middle", "slow"]


def test_of_equals_the_first_comes_first_and_after_its_turn_the_other() -> None:
    turns = Turns([(1.0, "one"), (1.0, "other")])
    assert not turns.only_one
    assert turns.next == "one"
    turns.again(1.5)
    assert turns.next == "other"
    turns.leave()
    assert turns.only_one
    assert turns.next == "one"
