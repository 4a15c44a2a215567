"""The ledger against dicts of counters and sets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from joader.cache import Ledger
from joader.errors import BadArgument, BadRows, JobExists, UnknownJob

NAMES = ["a", "b", "c", "d"]
SAMPLES = [0, 1, 2, 7, 8, 9, 63, 64, 2**20, 2**32 - 1]  # with the last two the sparse form
jobs = st.sampled_from(NAMES)
samples = st.sampled_from(SAMPLES)


class LedgerAgainstDicts(RuleBasedStateMachine):
    """Every call on the ledger and on the model; both refuse the same calls."""

    def __init__(self):
        super().__init__()
        self.ledger = Ledger()
        self.needs = {}
        self.pins = {}

    @rule(job=jobs, chosen=st.sets(samples))
    def begin(self, job, chosen):
        if self.needs.get(job):
            with pytest.raises(JobExists):
                self.ledger.begin(job, list(chosen))
            return
        self.ledger.begin(job, list(chosen))
        self.needs[job] = set(chosen)
        self.pins.setdefault(job, Counter())

    @rule(job=jobs, sample=samples)
    def read(self, job, sample):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.read(job, sample)
        elif sample not in self.needs[job]:
            with pytest.raises(BadArgument):
                self.ledger.read(job, sample)
        else:
            self.ledger.read(job, sample)
            self.needs[job].remove(sample)

    @rule(job=jobs, chosen=st.lists(samples, max_size=4))
    def read_each(self, job, chosen):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.read_each(job, chosen)
        elif set(chosen) - self.needs[job] or len(set(chosen)) < len(chosen):
            with pytest.raises((BadArgument, BadRows)):
                self.ledger.read_each(job, chosen)
        else:
            self.ledger.read_each(job, chosen)
            self.needs[job] -= set(chosen)

    @rule(job=jobs)
    def end(self, job):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.end(job)
            return
        self.ledger.end(job)
        self.needs[job] = set()

    @rule(job=jobs)
    def leave(self, job):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.leave(job)
            return
        mine = self.pins.pop(job)
        others = {sample for pins in self.pins.values() for sample in pins}
        assert sorted(self.ledger.leave(job)) == sorted(mine.keys() - others)
        del self.needs[job]

    @rule(job=jobs, sample=samples)
    def pin(self, job, sample):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.pin(job, sample)
            return
        self.ledger.pin(job, sample)
        self.pins[job][sample] += 1

    @rule(job=jobs, sample=samples)
    def unpin(self, job, sample):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.ledger.unpin(job, sample)
        elif not self.pins[job][sample]:
            with pytest.raises(BadArgument):
                self.ledger.unpin(job, sample)
        else:
            self.ledger.unpin(job, sample)
            self.pins[job][sample] -= 1
        for pins in self.pins.values():
            for gone in [sample for sample, count in pins.items() if not count]:
                del pins[gone]

    @invariant()
    def pins_and_needs_are_those_of_the_model(self):
        numbers = {job: self.ledger.number(job) for job in self.needs}
        assert len(set(numbers.values())) == len(numbers)
        masks = []
        for sample in SAMPLES:
            needing = [job for job in self.needs if sample in self.needs[job]]
            masks.append(sum(1 << numbers[job] for job in needing))
            assert self.ledger.needs(sample) == masks[-1]
            assert self.ledger.need_count(sample) == len(needing)
            pinned = any(pins[sample] for pins in self.pins.values())
            assert self.ledger.pinned(sample) == pinned
        everything = np.array(SAMPLES)
        assert self.ledger.needs_each(everything) == masks
        for job, needs in self.needs.items():
            assert self.ledger.unread(job) == len(needs)
            expected = [sample in needs for sample in SAMPLES]
            assert self.ledger.needed(job, everything).tolist() == expected


TestLedgerAgainstDicts = LedgerAgainstDicts.TestCase
TestLedgerAgainstDicts.settings = settings(deadline=None, max_examples=80, stateful_step_count=40)


def test_a_number_is_given_again_after_its_job_left_smallest_first():
    ledger = Ledger()
    for job in "abcd":
        ledger.begin(job, [1])
    ledger.leave("c")
    ledger.leave("a")
    assert ledger.needs(1) == 0b1010
    ledger.begin("e", [1])
    ledger.begin("f", [1])
    ledger.begin("g", [1])
    assert [ledger.number(job) for job in "efg"] == [0, 2, 4]
    assert ledger.needs(1) == 0b11111


def test_hundreds_of_jobs_have_a_bit_each():
    ledger = Ledger()
    for job in range(300):
        ledger.begin(job, [job, 1000])
    assert ledger.needs(1000) == 2**300 - 1
    assert ledger.need_count(1000) == 300
    assert ledger.needs_each(np.array([299, 1000, 7])) == [1 << 299, 2**300 - 1, 1 << 7]


def test_a_refused_pass_leaves_no_trace_of_its_job():
    ledger = Ledger()
    with pytest.raises(BadRows):
        ledger.begin("a", [1, 1])
    with pytest.raises(UnknownJob):
        ledger.unread("a")
    ledger.begin("b", [1])
    assert ledger.number("b") == 0


def test_a_refused_second_pass_leaves_the_job_between_passes():
    ledger = Ledger()
    ledger.begin("a", [1])
    ledger.read("a", 1)
    with pytest.raises(BadRows):
        ledger.begin("a", [-1])
    assert ledger.unread("a") == 0
    ledger.begin("a", [1, 2])
    assert ledger.unread("a") == 2


def test_pins_outlast_the_pass_they_were_taken_in():
    ledger = Ledger()
    ledger.begin("a", [1])
    ledger.pin("a", 1)
    ledger.read("a", 1)
    ledger.begin("a", [1])
    assert ledger.pinned(1)
    assert ledger.leave("a") == [1]
