"""One job inside the engine: how far it looks ahead, and when it gets its batch.

Places that are planned, asked for and held: in plan order, and counted.
"""

import numpy as np
import pytest

from joader.engine.plan import Stretch
from joader.engine.reader import Terms, Window
from joader.errors import BadArgument
from joader.statistics import ReadStatistics
from tests.engine.shelf import SLOT_BYTES, Shelf

NOTHING = np.empty(0, np.int64)


def test_its_share_is_a_batch_in_hand_and_one_in_preparation() -> None:
    reader = Shelf(8).reader(1, batch_size=3)
    assert reader.share == 6
    assert reader.share_bytes == 6 * SLOT_BYTES
    assert reader.holding == (0, 6, SLOT_BYTES)


def test_who_reads_by_itself_asks_for_nothing_and_has_no_claim_on_memory() -> None:
    reader = Shelf(8).reader(1, terms=Terms(reads_itself=True))
    assert (reader.may_ask, reader.share_bytes) == (0, 0)


def test_it_asks_for_what_it_looks_ahead_without_what_it_holds() -> None:
    reader = Shelf(8).reader(1)
    reader.most_ahead = 5
    assert reader.may_ask == 5
    reader.window.hold([90, 91])
    assert reader.may_ask == 3


def test_a_batch_is_due_when_all_of_it_is_here_and_its_workers_were_compared() -> None:
    shelf = Shelf(8)
    reader = shelf.reader(1, batch_size=2)
    assert reader.due() is None
    reader.note_want(2, now=1.0)
    shelf.ask(reader, 2)
    assert reader.due() is None
    reader.window.unready.clear()
    reader.inspected = {4}
    assert reader.due() is None
    reader.inspected = set()
    assert reader.due() == 2
    assert reader.take(2) == ([0, 1], [0, 1], [0, 1])


def test_what_it_holds_stays_within_its_share() -> None:
    shelf = Shelf(8)
    reader = shelf.reader(1)
    reader.note_want(1, now=1.0)
    shelf.ask(reader)
    reader.window.unready.clear()
    reader.window.hold([90, 91])
    assert reader.due() is None
    reader.window.let_go(1, [90])
    assert reader.due() == 1


def test_a_pass_before_the_first_epoch_or_after_unknown_positions_is_refused() -> None:
    reader = Shelf(8).reader(1)
    reader.check_begin(0, NOTHING)
    with pytest.raises(BadArgument, match="epochs count from 0"):
        reader.check_begin(-1, NOTHING)
    with pytest.raises(BadArgument, match="the job has 100"):
        reader.check_begin(0, np.array([100]))


def test_readers_of_one_recipe_draw_together_and_hits_are_what_was_not_prepared() -> None:
    shelf = Shelf(8)
    one, other = shelf.reader(1), shelf.reader(2)
    assert one.draws_with(other)
    assert not one.draws_with(Shelf(8).reader(3))
    one.delivered, one.prepared, one.shared = 10, 4, 3
    assert one.statistics() == ReadStatistics(10, 4, 6, 3)


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
