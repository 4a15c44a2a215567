"""Who is owed memory, and who gives it back."""

from joader.schedule.shares.memory import Holding, spare_bytes, who_gives_back


def test_what_others_are_owed_is_not_spare() -> None:
    within, beyond = Holding(3, 8, 100), Holding(20, 8, 1000)
    assert spare_bytes(700, [within, beyond]) == 200
    assert spare_bytes(400, [within]) == -100
    assert spare_bytes(400, []) == 400


def test_who_has_most_beyond_its_share_gives_back_first() -> None:
    holders = [(Holding(9, 8, 1), "a"), (Holding(8, 8, 1), "b"), (Holding(30, 8, 1), "c")]
    assert who_gives_back(holders) == ["c", "a"]
