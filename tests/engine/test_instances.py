"""Fresh instances: nobody gets one twice."""

from joader.cache import Table
from joader.engine.instances import Instances


def test_each_instance_serves_everybody_once() -> None:
    table = Table()
    instances = Instances(table)
    assert instances.new_to("a", 5) is None
    first = table.add(5)
    assert instances.new_to("a", 5) == first
    instances.take("a", first)
    assert instances.new_to("a", 5) is None
    assert instances.new_to("b", 5) == first
    extra = table.add(5)
    assert instances.new_to("a", 5) == extra


def test_what_is_given_up_before_it_came_is_new_again() -> None:
    table = Table()
    instances, sample = Instances(table), table.add(5)
    instances.take("a", sample)
    assert instances.has_had("a", sample)
    instances.put_back("a", sample)
    assert instances.new_to("a", 5) == sample
    instances.put_back("a", 6)  # is not known
    assert not instances.has_had("a", 6)


def test_what_is_one_jobs_own_is_offered_to_nobody() -> None:
    table = Table()
    table.add(5, own=True)
    assert Instances(table).new_to("a", 5) is None


def test_nothing_is_known_of_what_is_gone() -> None:
    table = Table()
    instances, sample = Instances(table), table.add(5)
    instances.take("a", sample)
    assert len(instances) == 1
    instances.forget(sample)
    assert len(instances) == 0
    assert instances.new_to("a", 5) == sample
