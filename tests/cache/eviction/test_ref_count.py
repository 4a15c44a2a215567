"""What the fewest jobs need leaves first, against counting each time."""

from joader.cache import RefCount
from tests.cache.eviction.naive import Stage, machine_of

TestRefCountAgainstNaive = machine_of(RefCount)


def test_what_fewer_jobs_need_leaves_first_and_of_equals_the_latest():
    stage = Stage(RefCount)
    stage.begin(0, [1, 2, 3])
    stage.begin(1, [1])
    one, two, three, four = (stage.admit(home) for home in (1, 2, 3, 4))
    assert stage.order() == [four, three, two, one]
    stage.read(0, 2)
    assert stage.order() == [four, two, three, one]
