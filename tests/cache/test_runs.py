"""Slots of runs against a dict of byte ranges."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from joader.cache import round_up, runs
from joader.cache.runs import Runs
from joader.errors import BadArgument
from tests.trials import trials

UNIT = 64
CAPACITY = 24 * UNIT
sizes = st.integers(0, 8 * UNIT)


def small(capacity_bytes, parts):
    """Return runs of an arena that is small, but of which each is one of so many parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "RUNS_PART", parts)
        return Runs(capacity_bytes)


class RunsAgainstByteRanges(RuleBasedStateMachine):
    """The model knows which bytes are used, and nothing of runs."""

    @initialize(parts=st.sampled_from([2, 3, 4, 24]), slack=st.integers(0, 63))
    def start(self, parts, slack):
        self.runs = small(CAPACITY + slack, parts)
        self.used = {}  # offset -> size

    def holes(self):
        """List (start, end) of the bytes between used slots."""
        found, start = [], 0
        for offset, size in [*sorted(self.used.items()), (CAPACITY, 0)]:
            if offset > start:
                found.append((start, offset))
            start = offset + size
        return found

    def note(self, offsets, size_bytes):
        for offset in offsets:
            assert offset not in self.used
            self.used[offset] = round_up(size_bytes)
        return len(offsets)

    def choose_used(self, data):
        return data.draw(st.sampled_from(sorted(self.used)))

    def give_back_one(self, offset):
        size = self.used.pop(offset)
        self.runs.give_back(size, offset)
        return size

    @rule(size=sizes, count=st.integers(1, 6))
    def take(self, size, count):
        got = self.note(self.runs.take(size, count), size)
        assert got <= count
        if got < count:
            assert self.runs.take(size, 1) == []

    @precondition(lambda self: self.used)
    @rule(data=st.data(), count=st.integers(1, 4))
    def give_back(self, data, count):
        for _ in range(min(count, len(self.used))):
            self.give_back_one(self.choose_used(data))

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def a_slot_given_back_serves_the_next_of_its_size(self, data):
        size = self.give_back_one(self.choose_used(data))
        assert self.note(self.runs.take(size, 1), size) == 1

    @rule(start=st.integers(0, 23), units=st.integers(1, 24))
    def break_up(self, start, units):
        self.runs.break_up(start * UNIT, (start + units) * UNIT)

    @precondition(lambda self: self.holes())
    @rule(data=st.data())
    def what_lies_between_used_slots_is_one_slot_once_broken_up(self, data):
        start, end = data.draw(st.sampled_from(self.holes()))
        self.runs.break_up(start, end)
        assert self.note(self.runs.take(end - start, 1), end - start) == 1

    @precondition(lambda self: len(self.used) > 3)
    @rule(size=sizes)
    def everything_that_was_given_back_can_be_taken_as_one_slot_and_in_any_size(self, size):
        for offset in sorted(self.used):
            self.give_back_one(offset)
        assert self.runs.take(CAPACITY, 1) == [0]
        self.runs.give_back(CAPACITY, 0)
        count = CAPACITY // round_up(size)
        assert self.note(self.runs.take(size, count + 1), size) == count

    @invariant()
    def used_slots_lie_apart_within_the_arena_at_multiples_of_64(self):
        end = 0
        for offset, size in sorted(self.used.items()):
            assert offset % UNIT == 0
            assert offset >= end
            end = offset + size
        assert end <= CAPACITY == self.runs.capacity_bytes

    @invariant()
    def used_bytes_are_those_of_all_used_slots(self):
        assert self.runs.used_bytes == sum(self.used.values())

    @invariant()
    def a_used_slot_lies_in_its_run_or_in_none(self):
        for offset, size in self.used.items():
            run = self.runs.run_of(offset)
            if run is not None:
                assert run.size == size
                assert offset in run.offsets
                assert run.used == len(self.used.keys() & set(run.offsets))


TestRunsAgainstByteRanges = RunsAgainstByteRanges.TestCase
TestRunsAgainstByteRanges.settings = settings(
    deadline=None, max_examples=trials(400, 80), stateful_step_count=40
)


def test_slots_of_one_size_lie_side_by_side_from_the_start():
    assert Runs(64 * 10 * UNIT).take(3 * UNIT, 3) == [0, 3 * UNIT, 6 * UNIT]


def test_slots_of_one_exact_size_fill_the_arena_to_the_last_byte():
    taken = small(1000 * 3 * UNIT, 7)
    assert len(taken.take(3 * UNIT, 2000)) == 1000
    assert taken.used_bytes == taken.capacity_bytes


def test_sizes_do_not_share_a_run_so_that_it_is_of_one_size_again_whoever_leaves():
    arena = small(8 * UNIT, 2)
    (one,) = arena.take(UNIT, 1)
    (two,) = arena.take(2 * UNIT, 1)
    assert (arena.run_of(one).count, arena.run_of(two).count) == (4, 2)
    assert arena.run_of(one) is not arena.run_of(two)


def test_a_slot_larger_than_a_run_is_a_run_of_its_own():
    arena = small(8 * UNIT, 4)
    (offset,) = arena.take(5 * UNIT, 1)
    run = arena.run_of(offset)
    assert (run.count, run.start, run.end) == (1, offset, offset + 5 * UNIT)


def test_a_run_that_nobody_uses_is_given_to_another_size_and_one_in_use_is_not():
    arena = small(8 * UNIT, 2)
    first = arena.take(UNIT, 4)
    second = arena.take(UNIT, 4)
    for offset in [*first, *second[1:]]:
        arena.give_back(UNIT, offset)
    assert len(arena.take(2 * UNIT, 4)) == 2
    assert arena.run_of(second[0]).count == 4


def test_free_slots_beside_a_used_one_are_plain_memory_once_its_run_is_broken_up():
    arena = small(8 * UNIT, 1)
    offsets = arena.take(UNIT, 8)
    for offset in offsets[1:]:
        arena.give_back(UNIT, offset)
    assert arena.take(7 * UNIT, 1) == []
    arena.break_up(UNIT, 8 * UNIT)
    assert arena.run_of(offsets[0]) is None
    assert arena.take(7 * UNIT, 1) == [UNIT]
    arena.give_back(7 * UNIT, UNIT)
    arena.give_back(UNIT, offsets[0])  # what was in use is plain memory from now on
    assert arena.take(8 * UNIT, 1) == [0]


def test_runs_beside_what_is_broken_up_stay():
    arena = small(8 * UNIT, 2)
    offsets = arena.take(UNIT, 8)
    arena.break_up(0, 4 * UNIT)
    assert [arena.run_of(offset) is None for offset in offsets] == [True] * 4 + [False] * 4


def test_more_slots_than_are_wanted_are_cut_but_not_thousands_at_a_time():
    arena = Runs(64 * 10_000 * UNIT)
    (offset,) = arena.take(UNIT, 1)
    assert arena.run_of(offset).count == 4096


def test_a_size_below_zero_is_refused_and_nothing_is_taken():
    arena = Runs(4 * UNIT)
    with pytest.raises(BadArgument):
        arena.take(-1, 1)
    assert arena.used_bytes == 0


def test_memory_is_used_from_its_start_on_however_many_sizes_there_are():
    runs = Runs(1 << 34)  # 16 GiB: parts of it would be 256 MiB each
    assert runs.reached_bytes == 0
    for size in range(1 << 20, 1 << 21, 1 << 17):
        runs.take(size, 1)
    assert runs.used_bytes < runs.reached_bytes <= 8 * (1 << 24)
    (offset,) = runs.take(1 << 20, 1)
    runs.give_back(1 << 20, offset)
    assert offset < runs.reached_bytes
