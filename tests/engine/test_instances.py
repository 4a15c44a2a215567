"""Fresh instances: nobody gets one twice."""

from joader.engine.instances import Instances


def test_who_has_had_an_instance_is_known_for_each() -> None:
    instances = Instances()
    assert not instances.has_had("a", 5)
    instances.take("a", 5)
    assert instances.has_had("a", 5)
    assert not instances.has_had("b", 5)
    assert not instances.has_had("a", 6)


def test_what_is_given_up_before_it_came_is_new_again() -> None:
    instances = Instances()
    instances.take("a", 5)
    instances.take("b", 5)
    instances.put_back("a", 5)
    assert not instances.has_had("a", 5)
    assert instances.has_had("b", 5)
    instances.put_back("a", 6)  # is not known
    assert not instances.has_had("a", 6)


def test_nothing_is_known_of_what_is_gone() -> None:
    instances = Instances()
    instances.take("a", 5)
    assert len(instances) == 1
    instances.forget(5)
    assert len(instances) == 0
    assert not instances.has_had("a", 5)
