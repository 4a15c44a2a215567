"""What is here or on its way is written down once, and forgotten when it is gone.

Fresh instances: nobody gets one twice.
"""

from joader.cache import NOBODY
from joader.engine.stock import Instances, Preparation
from joader.messages import Drop, Finish, Forget, Prepare, Refuse
from tests.engine.shelf import SLOT_BYTES, Shelf


def own_part_of(shelf: Shelf, source: int) -> int:
    own = shelf.stock.table.add(shelf.stock.table.home.cells[source], own=True)
    shelf.stock.make_of(own, source)
    shelf.stock.cache.lease(source)
    preparation = Preparation(shelf.recipe, 1, 1, (9, 1, 0), shelf.recipe.sizes, source)
    shelf.stock.begin([own], [preparation])
    return own


def test_a_worker_is_told_the_slots_and_where_random_numbers_start() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    (message,) = shelf.stock.say()
    assert isinstance(message, Prepare)
    assert (message.recipe, message.job, message.key) == ("code", 1, 9)
    assert (message.samples, message.rows) == ((0, 1), (0, 1))
    assert (message.positions, message.times) == ((0, 1), (0, 0))
    assert (message.offsets, message.sizes) == ((0, SLOT_BYTES), (SLOT_BYTES, SLOT_BYTES))
    assert shelf.stock.say() == []


def test_what_is_gone_is_said_first_and_what_is_to_be_prepared_last() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    own = own_part_of(shelf, 1)
    shelf.out.append(Refuse("no room", 2))
    shelf.stock.call_off(7)
    shelf.stock.forget((5, 6))
    gone, drop, refuse, prepare, finish = shelf.stock.say()
    assert (gone, drop) == (Forget((5, 6)), Drop((7,)))
    assert isinstance(refuse, Refuse)
    assert isinstance(prepare, Prepare)
    assert isinstance(finish, Finish)
    assert finish.samples == (own,)


def test_if_who_asked_first_has_left_it_is_prepared_for_who_waits() -> None:
    shelf = Shelf(4)
    for job in (1, 2):
        shelf.ask(shelf.reader(job))
    shelf.stock.say()
    del shelf.readers[1]
    preparation = shelf.stock.underway[0]
    del preparation.waiting[1, 0]
    shelf.stock.say_again(0)
    (message,) = shelf.stock.say()
    assert isinstance(message, Prepare)
    assert message.job == preparation.job == 2


def test_an_own_part_names_its_source_and_where_that_is_once_it_is_here() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 2)
    own = own_part_of(shelf, 1)
    _, first = shelf.stock.say()
    shelf.stock.ended(1)
    shelf.stock.cache.prepared(1)
    shelf.stock.say_again(own)
    (second,) = shelf.stock.say()
    assert isinstance(first, Finish)
    assert isinstance(second, Finish)
    assert (first.sources, second.sources) == ((1,), (1,))
    assert (first.source_offsets, second.source_offsets) == ((-1,), (SLOT_BYTES,))
    assert first.offsets == (-1,)  # it has no slot yet


def test_the_source_of_an_own_part_is_not_what_has_its_number_later() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 1)
    own = own_part_of(shelf, 0)
    assert shelf.stock.source_of(own) == 0
    assert shelf.stock.source_of(0) == 0
    shelf.stock.ended(0)
    shelf.stock.cache.prepared(0)
    for _ in range(2):
        shelf.stock.cache.release(0)
    shelf.stock.drop(0)
    assert shelf.stock.table.add(50) == 0
    assert shelf.stock.source_of(own) == -1


def test_what_has_no_slot_yet_is_promised_what_is_usual() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 1)
    assert shelf.stock.promised_bytes == 0
    own = own_part_of(shelf, 0)
    assert shelf.stock.promised_bytes == SLOT_BYTES
    shelf.stock.keep_promise(own)
    shelf.stock.keep_promise(own)
    assert shelf.stock.promised_bytes == 0


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


def test_an_own_part_counts_as_its_source_does() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 1)
    claimed = shelf.stock.table.claimed.cells
    first, second = own_part_of(shelf, 0), own_part_of(shelf, 0)
    for own in (first, second):
        shelf.stock.ended(own)
        shelf.stock.claim_for_own(own, 0, 3)
    assert (claimed[first], claimed[second], claimed[0]) == (NOBODY, 3, 3)
    shelf.stock.unclaim(second, 3)
    assert claimed[0] == 3
    shelf.stock.unclaim(first, 3)  # nobody gets it: the source counts for the next
    assert claimed[0] == NOBODY


def test_what_went_before_anybody_got_it_is_counted_as_wasted() -> None:
    shelf = Shelf(2)
    reader = shelf.reader(1)
    shelf.ask(reader, 2)
    for sample in (0, 1):
        shelf.stock.ended(sample)
        shelf.stock.cache.prepared(sample)
        shelf.stock.cache.release(sample)
    shelf.stock.table.claimed.cells[1] = 1
    shelf.stock.drop_all(shelf.recipe)
    assert shelf.stock.cache.wasted == 1
    assert not shelf.stock.keeps(shelf.recipe)


def test_what_ends_in_the_turn_that_began_it_is_not_prepared_nor_its_successor_twice() -> None:
    shelf = Shelf(4)
    stock, sizes = shelf.stock, shelf.recipe.sizes
    for row in (5, 6, 6):
        sample = stock.table.add(row)
        stock.begin([sample], [Preparation(shelf.recipe, row, 1, (9, row, 0), sizes)])
        if row == 5:
            stock.abandon(sample, stock.ended(sample))
    (message,) = stock.say()
    assert isinstance(message, Prepare)
    assert message.rows == (6, 6)
    assert len(set(message.samples)) == 2


def test_a_number_that_comes_along_now_is_not_prepared_by_itself() -> None:
    shelf = Shelf(4)
    stock, sizes = shelf.stock, shelf.recipe.sizes
    sample = stock.table.add(5)
    stock.begin([sample], [Preparation(shelf.recipe, 5, 1, (9, 5, 0), sizes)])
    stock.abandon(sample, stock.ended(sample))
    raw = stock.table.add(7)
    assert raw == sample
    along = Preparation(shelf.recipe, 7, 1, (9, 7, 0), sizes)
    along.along = True
    stock.begin_along(raw, along)
    assert stock.say() == []


def test_what_came_along_and_was_lost_is_prepared_by_itself() -> None:
    shelf = Shelf(4)
    stock = shelf.stock
    raw = stock.table.add(7)
    along = Preparation(shelf.recipe, 7, 1, (9, 7, 0), shelf.recipe.sizes)
    along.along = True
    stock.begin_along(raw, along)
    stock.say_again(raw)
    (message,) = stock.say()
    assert isinstance(message, Prepare)
    assert message.samples == (raw,)


def test_own_parts_of_a_raw_form_wait_with_the_row_it_comes_with() -> None:
    shelf = Shelf(4)
    shelf.ask(shelf.reader(1), 1)
    stock = shelf.stock
    raw = stock.table.add(50)
    along = Preparation(shelf.recipe, 50, 1, (9, 0, 0), shelf.recipe.sizes)
    along.along = True
    stock.begin_along(raw, along)
    stock.underway[0].raw = raw
    own = own_part_of(shelf, raw)
    along.followers[own] = None
    assert stock.at_work
    stock.unplaced[0] = SLOT_BYTES  # its worker waits, and so does all that is to come of it
    assert not stock.at_work


def test_rows_that_go_whole_are_told_apart_from_others_of_their_pass() -> None:
    shelf = Shelf(4)
    stock, sizes = shelf.stock, shelf.recipe.sizes
    samples = [stock.table.add(row, own=row == 6) for row in (5, 6, 7)]
    each = [
        Preparation(shelf.recipe, row, 1, (9, row, 0), sizes, whole=row == 6) for row in (5, 6, 7)
    ]
    stock.begin(samples, each)
    messages = [message for message in stock.say() if isinstance(message, Prepare)]
    assert [(message.rows, message.whole) for message in messages] == [
        ((5,), False),
        ((6,), True),
        ((7,), False),
    ]


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
