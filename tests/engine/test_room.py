"""Room for samples: by right within a share, beyond it only while nobody is owed any."""

from joader.engine.reader import Terms
from tests.engine.shelf import SLOT_BYTES, Shelf


def test_within_its_share_a_reader_gets_room_from_who_has_more_than_its_own() -> None:
    shelf = Shelf(4)
    rich, poor = shelf.reader(1), shelf.reader(2)
    shelf.ask(rich, 4)
    for sample in range(4):
        shelf.stock.ended(sample)
        shelf.stock.cache.prepared(sample)
    rich.window.unready.clear()
    assert shelf.room.room_for(poor, 50, SLOT_BYTES)
    assert rich.window.samples == [0, 1, 2]
    assert shelf.stock.cache.has(50)
    assert not shelf.stock.cache.has(3)


def test_beyond_its_share_it_takes_nothing_that_another_is_owed() -> None:
    shelf = Shelf(4)
    rich, _ = shelf.reader(1), shelf.reader(2)
    shelf.ask(rich, 2)
    assert not shelf.room.room_for(rich, 50, SLOT_BYTES)  # two are the other's
    del shelf.readers[2]
    assert shelf.room.room_for(rich, 50, SLOT_BYTES)


def test_what_is_in_a_workers_hands_is_not_taken_back() -> None:
    shelf = Shelf(4)
    rich, poor = shelf.reader(1), shelf.reader(2)
    shelf.ask(rich, 4)
    assert not shelf.room.room_for(poor, 50, SLOT_BYTES)
    assert len(rich.window.samples) == 4


def test_giving_up_leaves_no_lease_no_waiting_and_a_fresh_sample_new() -> None:
    shelf = Shelf(4)
    reader = shelf.reader(1, terms=Terms(fresh=True, reads_for="loader"))
    shelf.ask(reader, 2)
    shelf.stock.instances.take("loader", 1)
    shelf.room.give_up(reader)
    assert reader.window.samples == [0]
    assert shelf.stock.underway[1].waiting == {}
    assert reader.window.unready == {0}
    assert not shelf.stock.instances.has_had("loader", 1)
    shelf.room.give_up_all(reader)
    assert reader.window.samples == []


def test_a_failure_that_is_given_up_is_forgotten() -> None:
    shelf = Shelf(4)
    reader = shelf.reader(1)
    shelf.ask(reader)
    reader.window.unready.clear()
    reader.window.failed[0] = "no"
    shelf.room.give_up(reader)
    assert reader.window.failed == {}


def test_nothing_is_spare_while_a_prepared_sample_waits_for_room() -> None:
    shelf = Shelf(8)
    reader = shelf.reader(1)
    shelf.ask(reader, 2)
    assert shelf.room.spare(SLOT_BYTES)
    shelf.stock.unplaced[1] = SLOT_BYTES
    assert not shelf.room.spare(SLOT_BYTES)
    reader.stuck = True
    assert not shelf.room.may_go_without(reader)
    shelf.stock.unplaced.clear()
    assert shelf.room.may_go_without(reader)
