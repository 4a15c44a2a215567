"""Fresh instances: nobody gets one twice, and numbers are used again."""

from joader.engine.recipes import MOST_ROWS, Instances


def test_the_home_serves_each_once_and_then_an_extra_one_does() -> None:
    instances = Instances()
    assert instances.new_to("a", 5) == 5
    instances.take("a", 5)
    assert instances.new_to("a", 5) is None
    assert instances.new_to("b", 5) == 5
    extra = instances.add_extra(5)
    assert instances.new_to("a", 5) == extra
    assert instances.all_of(5) == [5, extra]
    assert (instances.home(extra), instances.home(5)) == (5, 5)


def test_what_is_given_up_before_it_came_is_new_again() -> None:
    instances = Instances()
    instances.take("a", 5)
    assert instances.has_had("a", 5)
    instances.put_back("a", 5)
    assert instances.new_to("a", 5) == 5
    instances.put_back("a", 6)  # is not known
    assert not instances.has_had("a", 6)


def test_what_is_one_jobs_own_is_offered_to_nobody() -> None:
    instances = Instances()
    own = instances.add_own(5)
    assert instances.is_own(own)
    assert instances.all_of(5) == [5]
    instances.take("a", 5)
    assert instances.new_to("a", 5) is None


def test_numbers_of_what_is_gone_are_given_to_others_the_lowest_first() -> None:
    instances = Instances()
    numbers = [instances.add_extra(5), instances.add_own(6), instances.add_extra(7)]
    assert numbers == [MOST_ROWS, MOST_ROWS + 1, MOST_ROWS + 2]
    instances.forget(numbers[1])
    instances.forget(numbers[0])
    assert not instances.is_own(numbers[1])
    assert instances.all_of(5) == [5]
    assert [instances.add_extra(8) for _ in range(3)] == [*numbers[:2], MOST_ROWS + 3]


def test_nothing_is_known_of_what_is_gone() -> None:
    instances = Instances()
    instances.take("a", 5)
    instances.take("a", instances.add_extra(5))
    assert len(instances) == 3
    instances.forget(5)
    instances.forget(MOST_ROWS)
    assert len(instances) == 0
    assert instances.new_to("a", 5) == 5
