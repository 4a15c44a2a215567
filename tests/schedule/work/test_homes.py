"""How many processors there are, as jobs come and go."""

import pytest

from joader.schedule.work.homes import Homes


def test_one_home_has_no_bounds_of_its_own() -> None:
    homes = Homes(2, 8)
    assert (homes.cores, homes.bounds) == (2, {})
    homes.join("a", "/x on 0,1,2,3", 4)
    homes.join("b", "/x on 0,1,2,3", 4)
    assert (homes.cores, homes.bounds) == (4, {})
    homes.leave("a")
    homes.leave("a")
    homes.leave("b")
    assert homes.cores == 2


@pytest.mark.parametrize(("other", "cores"), [("/y on 4,5", 6), ("/y on 3,4", 5), ("", 6)])
def test_homes_apart_add_up_and_those_that_overlap_count_once(other: str, cores: int) -> None:
    homes = Homes(2, 8)
    homes.join("a", "/x on 0,1,2,3", 4)
    homes.join("b", other, 2 if other else 0)
    assert homes.cores == cores
    assert homes.bounds == {"/x on 0,1,2,3": 4.0, other: 2.0}


def test_there_are_no_more_than_the_machine_has() -> None:
    homes = Homes(2, 6)
    homes.join("a", "/x", 4)
    homes.join("b", "/y", 4)
    assert homes.cores == 6
