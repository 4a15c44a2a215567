"""Which nodes have shown that they prepare the same."""

from joader.schedule.nodes.trust import Trust


def test_the_first_rows_are_compared_and_then_one_in_many() -> None:
    trust = Trust(first=3, later=5)
    assert [trust.next("r", "a", 100) for _ in range(4)] == [*["compare"] * 3, "wait"]
    for _ in range(3):
        assert not trust.is_trusted("r", "a", 100)
        trust.compared("r", "a", True)
    assert trust.is_trusted("r", "a", 100)
    words = [trust.next("r", "a", 100) for _ in range(10)]
    assert words == [*["fetch"] * 4, "compare", *["fetch"] * 4, "compare"]


def test_one_row_that_differs_ends_it_for_good() -> None:
    trust = Trust(first=2)
    trust.next("r", "a", 100)
    trust.compared("r", "a", True)
    trust.compared("r", "a", False)
    trust.compared("r", "a", True)
    assert trust.next("r", "a", 100) == "never"
    assert trust.differs("r", "a")
    assert trust.next("other", "a", 100) == "compare"
    assert trust.next("r", "b", 100) == "compare"


def test_a_comparison_that_came_to_nothing_is_made_up_for() -> None:
    trust = Trust(first=1)
    assert trust.next("r", "a", 100) == "compare"
    assert trust.next("r", "a", 100) == "wait"
    trust.not_compared("r", "a")
    assert trust.next("r", "a", 100) == "compare"


def test_a_small_dataset_is_compared_as_a_whole() -> None:
    trust = Trust(first=64)
    assert [trust.next("r", "a", 2) for _ in range(3)] == ["compare", "compare", "wait"]
    trust.compared("r", "a", True)
    trust.compared("r", "a", True)
    assert trust.next("r", "a", 2) == "fetch"


def test_who_comes_under_the_name_of_another_is_not_trusted() -> None:
    trust = Trust(first=1)
    trust.next("r", "a", 9)
    trust.compared("r", "a", True)
    trust.forget("a")
    assert trust.next("r", "a", 9) == "compare"
