"""What is here or on its way is written down once, and forgotten when it is gone."""

import numpy as np

from joader.engine.stock import WORKERS, Origin, Preparation
from joader.messages import Finish, Forget, Prepare
from tests.engine.shelf import SLOT_BYTES, Shelf


def test_a_worker_is_told_the_slot_and_where_random_numbers_start() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    shelf.stock.say(1, shelf.stock.underway[1])
    (message,) = shelf.out
    assert isinstance(message, Prepare)
    assert (message.recipe, message.job, message.key) == ("code", 1, 9)
    assert (message.rows, message.positions, message.times) == ((1,), (1,), (0,))
    assert (message.offsets, message.sizes) == ((SLOT_BYTES,), (SLOT_BYTES,))


def test_if_who_asked_first_has_left_it_is_prepared_for_who_waits() -> None:
    shelf = Shelf(4)
    for job in (1, 2):
        shelf.ask(shelf.reader(job))
    del shelf.readers[1]
    preparation = shelf.stock.underway[0]
    del preparation.waiting[1, 0]
    shelf.stock.say(0, preparation)
    assert preparation.job == 2
    assert isinstance(shelf.out[0], Prepare)
    assert shelf.out[0].job == 2


def test_an_own_part_names_its_source_and_where_that_is_once_it_is_here() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    own = Preparation(shelf.recipe, 1, 1, (9, 1, 0), shelf.recipe.sizes, source=1)
    shelf.stock.say(50, own)
    shelf.stock.ended(1)
    shelf.stock.cache.prepared(1)
    shelf.stock.say(50, own)
    told = [message for message in shelf.out if isinstance(message, Finish)]
    assert [message.source_offsets for message in told] == [(-1,), (SLOT_BYTES,)]
    assert told[0].offsets == (-1,)  # it has no slot yet


def test_a_sample_is_wanted_while_somebody_waits_for_it_or_for_what_is_made_of_it() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    first, second = shelf.stock.underway[0], shelf.stock.underway[1]
    first.waiting.clear()
    assert not shelf.stock.wanted(0)
    first.followers[1] = None
    assert shelf.stock.wanted(0)
    second.source = 0
    assert shelf.stock.waits_for(1) == (0, 1)
    shelf.stock.ended(0)
    assert shelf.stock.waits_for(1) == (1, 1)
    assert shelf.recipe.underway == 1


def test_nobody_is_at_work_when_all_that_is_underway_waits_for_slots() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    assert shelf.stock.at_work
    shelf.stock.unplaced = {0: 64}
    assert shelf.stock.at_work
    shelf.stock.unplaced = {0: 64, 1: 64}
    assert not shelf.stock.at_work


def test_what_workers_hold_stays_until_they_let_it_go() -> None:
    shelf = Shelf(1)
    shelf.stock.cache.begin(1, np.arange(4))
    shelf.stock.cache.reserve(0, 64)
    shelf.stock.cache.prepared(0)
    shelf.stock.hold(0)
    assert shelf.stock.cache.number(WORKERS) >= 0
    assert shelf.stock.cache.pinned(0)
    shelf.stock.let_source_go(50, 0)
    assert not shelf.stock.cache.pinned(0)


def test_what_went_before_anybody_got_it_is_counted_as_wasted_and_told() -> None:
    shelf = Shelf(2)
    shelf.stock.origin = {0: Origin(), 1: Origin(job=1)}
    shelf.stock.forget([0, 1])
    assert shelf.stock.wasted == 1
    assert shelf.out == [Forget((0, 1))]
    shelf.stock.forget([])
    assert len(shelf.out) == 1
