"""Batches that are complete are handed to their jobs, in plan order, and counted."""

import pytest

from joader.engine.deliveries import FEW, Deliveries
from joader.engine.preparations import Preparations
from joader.engine.raw_forms import RawForms
from joader.engine.supply import Supply
from joader.engine.teams import Teams
from joader.messages import Deliver, Prepared
from tests.engine.shelf import SLOT_BYTES, Shelf


class Counter:
    """A shelf, who prepares, and who hands out."""

    def __init__(self, slots: int = 64) -> None:
        self.shelf = Shelf(slots)
        stock = self.shelf.stock
        raws = RawForms(stock)
        self.preparations = Preparations(stock, self.shelf.room, raws)
        self.deliveries = Deliveries(stock, Supply(stock, self.shelf.room, raws), Teams())

    def delivered(self) -> list[Deliver]:
        return [message for message in self.shelf.out if isinstance(message, Deliver)]


@pytest.mark.parametrize("count", [2, FEW + 2])
def test_a_batch_is_handed_out_once_all_of_it_is_here_and_is_then_read(count: int) -> None:
    counter = Counter()
    reader = counter.shelf.reader(1, batch_size=count)
    reader.note_want(count, now=1.0)
    counter.shelf.ask(reader, count)
    assert not counter.deliveries.hand_out()
    assert (reader.flow().preparing, reader.flow().ready, reader.flow().held) == (count, 0, 0)
    counter.preparations.prepared(Prepared(tuple(range(count)), (SLOT_BYTES,)))
    assert (reader.flow().preparing, reader.flow().ready, reader.flow().held) == (0, count, 0)
    assert counter.deliveries.hand_out()
    assert (reader.flow().preparing, reader.flow().ready, reader.flow().held) == (0, 0, count)
    (batch,) = counter.delivered()
    assert batch.positions.tolist() == batch.samples.tolist() == list(range(count))
    assert batch.offsets.tolist() == [sample * SLOT_BYTES for sample in range(count)]
    assert reader.window.held_count == count
    cache = counter.shelf.stock.cache
    assert [cache.demand.needed(1, sample) for sample in (0, count - 1, count)] == [
        False,
        False,
        True,
    ]
    assert not counter.deliveries.hand_out()


def test_a_preparation_counts_for_the_first_who_gets_it_and_is_shared_for_the_next() -> None:
    counter = Counter()
    for job in (1, 2):
        reader = counter.shelf.reader(job)
        reader.note_want(1, now=1.0)
        counter.shelf.ask(reader)
    counter.preparations.prepared(Prepared((0,), (SLOT_BYTES,)))
    counter.deliveries.hand_out()
    counts = [(batch.job, batch.prepared, batch.shared) for batch in counter.delivered()]
    assert counts == [(1, 1, 0), (2, 0, 1)]
    assert [dict(reader.taken_from) for reader in counter.shelf.readers.values()] == [{}, {1: 1}]


def test_what_failed_is_told_with_its_reason_and_not_held() -> None:
    counter = Counter()
    reader = counter.shelf.reader(1, batch_size=3)
    reader.note_want(3, now=1.0)
    counter.shelf.ask(reader, 3)
    counter.preparations.failed(1, "no")
    counter.preparations.prepared(Prepared((0, 2), (SLOT_BYTES,)))
    counter.deliveries.hand_out()
    (batch,) = counter.delivered()
    assert batch.positions.tolist() == [0, 1, 2]
    assert (batch.samples.tolist(), batch.failed) == ([0, 2], ((1, "no"),))
    assert reader.window.held == {0: 1, 2: 1}
    assert (reader.delivered, reader.window.failed) == (2, {})
