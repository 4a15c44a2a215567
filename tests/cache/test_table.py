"""The table against a list of samples in the order in which they came.

A field of all samples: cells one by one and all at once are the same integers.
"""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache import NOBODY, NOWHERE, PREPARING, READY, Table
from joader.cache.table import Column

HOMES = range(4)  # few, so that rows have several samples
homes = st.sampled_from(HOMES)


class TableAgainstAList(RuleBasedStateMachine):
    """The model is a list of (number, home, own), oldest first."""

    def __init__(self):
        super().__init__()
        self.table = Table(size=2)  # so that it has to grow
        self.samples = []
        self.vacant = []  # numbers that were used and are not
        self.serials = []

    def of(self, home):
        return [sample for sample, its, own in self.samples if its == home and not own]

    @rule(home=homes, own=st.booleans())
    def add(self, home, own):
        sample = self.table.add(home, own)
        assert sample not in [one for one, _, _ in self.samples]
        if self.vacant:
            assert sample == self.vacant.pop()
        self.samples.append((sample, home, own))
        self.serials.append(self.table.serial.cells[sample])

    @precondition(lambda self: self.samples)
    @rule(data=st.data())
    def remove(self, data):
        place = data.draw(st.integers(0, len(self.samples) - 1))
        sample, _, _ = self.samples.pop(place)
        self.table.remove(sample)
        self.vacant.append(sample)

    @precondition(lambda self: self.samples)
    @rule(data=st.data())
    def use(self, data):
        sample = data.draw(st.sampled_from([one for one, _, _ in self.samples]))
        self.table.state.cells[sample] = READY
        self.table.pins.cells[sample] += 1
        self.table.claimed.cells[sample] = 5

    @rule(some=st.lists(homes, unique=True))
    def find_many(self, some):
        found = [sample for home in some for sample in self.of(home)]
        assert sorted(self.table.of_each(some)) == sorted(found)
        assert self.table.firsts_of(some) == [(self.of(home) or [-1])[0] for home in some]

    @invariant()
    def rows_have_their_samples_oldest_first_and_own_ones_are_not_found(self):
        for home in HOMES:
            assert self.table.all_of(home) == self.of(home)
        assert len(self.table) == len(self.samples)
        assert self.table.everyone().tolist() == sorted(one for one, _, _ in self.samples)
        for sample, home, own in self.samples:
            assert self.table.home.cells[sample] == home
            assert self.table.own.cells[sample] == own

    @invariant()
    def serials_are_never_used_again(self):
        assert self.serials == sorted(set(self.serials))

    @invariant()
    def nothing_is_kept_of_rows_without_samples(self):
        assert self.table.first.keys() == {home for home in HOMES if self.of(home)}
        assert self.table.extras.keys() == {home for home in HOMES if len(self.of(home)) > 1}


TestTableAgainstAList = TableAgainstAList.TestCase
TestTableAgainstAList.settings = settings(deadline=None, max_examples=50, stateful_step_count=30)


def test_a_new_sample_is_in_preparation_has_no_slot_and_nothing_of_who_had_its_number():
    table = Table()
    gone = table.add(home=1, own=True)
    table.state.cells[gone] = READY
    table.pins.cells[gone] = 3
    table.claimed.cells[gone] = 7
    table.remove(gone)
    assert not table.everyone().size
    sample = table.add(home=2)
    assert sample == gone
    assert table.state.cells[sample] == PREPARING
    assert table.offset.cells[sample] == NOWHERE
    assert table.claimed.cells[sample] == NOBODY
    assert [table.size.cells[sample], table.pins.cells[sample], table.own.cells[sample]] == [0] * 3


def test_the_oldest_further_sample_is_the_first_once_the_first_has_gone():
    table = Table()
    first, second, third = (table.add(home=9) for _ in range(3))
    table.remove(first)
    assert table.all_of(9) == [second, third]
    table.remove(third)
    assert table.all_of(9) == [second]
    table.remove(second)
    assert table.all_of(9) == []


def test_what_is_known_of_a_sample_outlives_growth():
    table = Table(size=1)
    table.offset.cells[table.add(home=5)] = 640
    for home in range(6, 20):
        table.add(home)
    assert table.home.all[:15].tolist() == list(range(5, 20))
    assert np.count_nonzero(table.offset.all == NOWHERE) == len(table.offset.cells) - 1


@pytest.mark.parametrize("home", [0, 2**32 - 1, 2**40])
def test_a_home_may_be_any_row_of_any_dataset(home):
    table = Table()
    sample = table.add(home)
    assert table.firsts_of([home, 1]) == [sample, -1]


@pytest.mark.parametrize(("width", "bits"), [("b", 8), ("i", 32), ("q", 64)])
def test_a_column_holds_every_integer_of_its_width(width, bits):
    column = Column(width, 2)
    column.cells[0], column.cells[1] = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert column.all.itemsize * 8 == bits
    assert column.all.tolist() == [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    with pytest.raises(OverflowError):
        column.cells[0] = 2 ** (bits - 1)


def test_what_is_written_one_by_one_is_read_as_an_array_and_the_other_way_round():
    column = Column("q", 3)
    column.cells[1] = 7
    column.all[2] = 9
    assert column.all.tolist() == list(column.cells) == [0, 7, 9]


def test_a_column_that_grows_keeps_its_values_and_fills_the_rest():
    column = Column("i", 2, fill=-1)
    column.cells[0] = 5
    column.grow(4)
    assert column.all.tolist() == [5, -1, -1, -1]
    column.cells[3] = 6
    np.add.at(column.all, [3, 3], 1)
    assert list(column.cells) == [5, -1, -1, 8]


def test_a_column_can_grow_while_somebody_looks_at_it():
    column = Column("q", 1)
    view = column.all
    column.grow(2)
    column.cells[0] = 3
    assert view.tolist() == [0]
