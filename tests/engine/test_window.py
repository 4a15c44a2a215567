"""Places that are planned, asked for and held: in plan order, and counted."""

import numpy as np
import pytest

from joader.engine.plan import Stretch
from joader.engine.window import Window
from joader.errors import BadArgument


def planned(*places: int, asked: int = 0) -> Window:
    window = Window()
    window.plan(Stretch(np.array(places), np.array(places) * 10), base=1000)
    window.samples = window.homes[:asked]
    return window


def test_what_is_planned_has_the_numbers_of_its_recipe() -> None:
    window = planned(3, 1)
    assert (window.places, window.homes) == ([3, 1], [1030, 1010])
    window.forget_plan()
    assert (window.places, window.homes) == ([], [])


def test_a_delivery_is_short_only_at_the_end_of_a_pass() -> None:
    window = planned(0, 1, 2)
    assert window.next_count(more_to_come=True) is None
    window.want(4)
    assert window.next_count(more_to_come=True) is None
    assert window.next_count(more_to_come=False) == 3
    window.drop_wants()
    window.want(2)
    assert window.next_count(more_to_come=True) == 2


def test_places_are_ready_in_plan_order_only() -> None:
    window = planned(0, 1, 2, asked=3)
    window.unready = {0, 2}
    assert not window.are_ready(1)
    window.unready = {2}
    assert window.are_ready(2)
    assert not window.are_ready(3)


def test_what_is_taken_is_gone_and_the_rest_is_still_ready() -> None:
    window = planned(0, 1, 2, asked=3)
    window.want(2)
    assert window.are_ready(2)
    assert window.take(2) == ([0, 1], [1000, 1010], [1000, 1010])
    assert (window.places, window.wanted, window.size) == ([2], 0, 1)
    assert window.are_ready(1)


def test_the_farthest_is_given_up_first_and_stays_planned() -> None:
    window = planned(4, 5, 6, asked=2)
    assert window.are_ready(2)
    assert window.unask() == (5, 1050)
    assert window.places == [4, 5, 6]
    assert not window.are_ready(2)


def test_what_is_held_twice_is_released_twice_and_no_more() -> None:
    window = planned()
    window.hold([7, 7, 8])
    with pytest.raises(BadArgument, match="releases sample 7 3 times and holds 2"):
        window.let_go(1, [8, 7, 7, 7])
    assert window.held_count == 3
    window.let_go(1, [7, 8])
    assert (window.held, window.held_count) == ({7: 1}, 1)
