"""What becomes of preparations when workers report, die, or do not answer."""

from joader.cache import NOWHERE, READY
from joader.engine.preparations import TRIES, Preparations
from joader.engine.raw_forms import RawForms
from joader.messages import Drop, Place, Prepare, Prepared
from tests.engine.shelf import SLOT_BYTES, Shelf


def underway(slots: int = 4, count: int = 2) -> tuple[Shelf, Preparations]:
    shelf = Shelf(slots)
    shelf.ask(shelf.reader(1), count)
    shelf.stock.say()
    return shelf, Preparations(shelf.stock, shelf.room, RawForms(shelf.stock))


def test_samples_that_are_reported_together_are_here_as_each_would_be() -> None:
    shelf, preparations = underway(count=3)
    preparations.prepared(Prepared((0, 1), (SLOT_BYTES,)))
    preparations.prepared(Prepared((2,), (SLOT_BYTES,)))
    assert shelf.stock.underway == {}
    assert shelf.readers[1].window.unready == set()
    assert (shelf.stock.table.state.all[:3] == READY).all()
    assert shelf.recipe.underway == 0


def test_a_failure_is_told_to_all_that_wait_and_frees_the_slot() -> None:
    shelf, preparations = underway()
    other = shelf.reader(2)
    shelf.ask(other)
    preparations.failed(0, "no")
    assert [reader.window.failed for reader in shelf.readers.values()] == [{0: "no"}, {0: "no"}]
    assert shelf.stock.table.firsts_of([0, 1]) == [-1, 1]
    assert shelf.stock.cache.used_bytes == SLOT_BYTES


def test_what_a_worker_died_of_is_tried_again_so_often_and_then_fails() -> None:
    shelf, preparations = underway()
    for _ in range(TRIES - 1):
        preparations.lost((0,), "it died\ntrace")
        preparations.prepare_again()
        assert [type(message) for message in shelf.stock.say()] == [Prepare]
    preparations.lost((0,), "it died\ntrace")
    assert shelf.readers[1].window.failed == {0: f"it died, {TRIES} times\ntrace"}


def test_who_is_not_to_blame_loses_no_try() -> None:
    shelf, preparations = underway()
    for _ in range(TRIES + 3):
        preparations.lost((1,), "it was told to end", blamed=False)
        preparations.prepare_again()
    assert shelf.readers[1].window.failed == {}
    assert shelf.stock.underway[1].tries == 1


def test_what_nobody_waits_for_any_more_is_not_tried_again() -> None:
    shelf, preparations = underway()
    shelf.room.give_up_all(shelf.readers[1])
    preparations.lost((0, 77), "it died")
    preparations.prepare_again()
    assert shelf.stock.say() == []
    assert 0 not in shelf.stock.underway


def test_a_sample_that_needs_another_slot_gets_it_unless_it_is_larger_than_all() -> None:
    shelf, preparations = underway()
    preparations.sized(0, 2 * SLOT_BYTES)
    assert shelf.stock.table.offset.cells[0] == NOWHERE
    preparations.place()
    (place,) = shelf.out
    assert isinstance(place, Place)
    assert (place.samples, place.sizes) == ((0,), (2 * SLOT_BYTES,))
    preparations.sized(1, 5 * SLOT_BYTES)
    assert (
        "the sample has 320 bytes and the budget is 256 bytes; make it"
        in shelf.readers[1].window.failed[1]
    )
    assert Drop((1,)) in shelf.stock.say()


def test_a_sized_sample_that_nobody_wants_or_needs_is_dropped() -> None:
    shelf, preparations = underway()
    preparations.sized(0, SLOT_BYTES)
    shelf.room.give_up_all(shelf.readers[1])
    shelf.stock.cache.leave(1)
    preparations.place()
    assert shelf.stock.say() == [Drop((0,))]
    assert 0 not in shelf.stock.underway


def test_who_waits_for_a_late_worker_waits_for_another_preparation_of_the_row() -> None:
    shelf, preparations = underway()
    preparations.late((0,))
    (message,) = shelf.stock.say()
    assert isinstance(message, Prepare)
    assert (message.samples, message.rows) == ((2,), (0,))
    assert shelf.readers[1].window.samples == [2, 1]
    assert shelf.stock.underway[0].waiting == {}
    preparations.late((2,))  # not from worker to worker
    assert shelf.stock.say() == []
