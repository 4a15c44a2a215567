"""Room for samples: by right within a share, beyond it only while nobody is owed any."""

from joader.engine.reader import Reader, Terms
from tests.engine.shelf import SLOT_BYTES, Shelf


def prepared(shelf: Shelf, reader: Reader) -> None:
    for sample in list(shelf.stock.underway):
        shelf.stock.ended(sample)
        shelf.stock.cache.prepared(sample)
    reader.window.unready.clear()


def test_by_right_a_reader_gets_room_from_who_has_more_than_its_share() -> None:
    shelf = Shelf(4)
    rich = shelf.reader(1)
    shelf.ask(rich, 4)
    prepared(shelf, rich)
    new = [shelf.stock.table.add(home) for home in (50, 51, 52)]
    assert shelf.room.reserve_each(new, SLOT_BYTES, by_right=1) == 1
    assert rich.window.samples == [0, 1, 2]
    assert shelf.stock.table.firsts_of([3, 2]) == [-1, 2]
    assert shelf.room.reserve_each(new[1:], SLOT_BYTES, by_right=2) == 1  # two are its share
    assert rich.window.samples == [0, 1]


def test_what_is_spare_is_nobodys_share() -> None:
    shelf = Shelf(4)
    rich, _ = shelf.reader(1), shelf.reader(2)
    shelf.ask(rich, 2)
    assert shelf.room.spare_bytes() == 0  # two are the other's
    del shelf.readers[2]
    assert shelf.room.spare_bytes() == 2 * SLOT_BYTES
    shelf.stock.promised_bytes = SLOT_BYTES
    assert shelf.room.spare_bytes() == SLOT_BYTES


def test_what_is_in_a_workers_hands_is_not_taken_back() -> None:
    shelf = Shelf(4)
    rich = shelf.reader(1)
    shelf.ask(rich, 4)
    assert not shelf.room.reserve(shelf.stock.table.add(50), SLOT_BYTES, reclaim=True)
    assert len(rich.window.samples) == 4


def test_room_for_a_sample_is_not_made_of_that_sample() -> None:
    shelf = Shelf(4)
    rich = shelf.reader(1)
    shelf.ask(rich, 4)
    shelf.stock.unplaced[3] = SLOT_BYTES
    assert not shelf.room.reclaim(wanted=3)
    assert shelf.room.reclaim(wanted=2)


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
    assert shelf.room.spare_bytes() >= SLOT_BYTES
    shelf.stock.unplaced[1] = SLOT_BYTES
    assert shelf.room.spare_bytes() < 0
    reader.stuck = True
    assert not shelf.room.may_go_without(reader)
    shelf.stock.unplaced.clear()
    assert shelf.room.may_go_without(reader)
