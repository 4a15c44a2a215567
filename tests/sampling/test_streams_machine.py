"""`StreamSampler` against brute force: joins, leaves, returns, partial draws, other sets, rests."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from joader.errors import BadRows, JobExists, NotEnoughRows, UnknownJob
from joader.sampling import StreamSampler
from joader.sampling import stream_group as group_module
from joader.sampling import streams as streams_module
from tests.trials import trials

ROWS = st.lists(st.integers(0, 30), unique=True, max_size=25) | st.lists(
    st.integers(0, 9) | st.integers(2**32 - 9, 2**32 - 1) | st.integers(0, 2**32 - 1),
    unique=True,
    max_size=12,
)


class Machine(RuleBasedStateMachine):
    """Two plain sets a job: what it has to read, and what it has read in its pass."""

    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, set[int]] = {}
        self.read: dict[int, list[int]] = {}
        self.next_job = 0

    @initialize(reach=st.none() | st.integers(0, 30))
    def start(self, reach: int | None) -> None:
        self.sampler = StreamSampler(7, 1, reach)

    @rule(target=jobs, rows=ROWS)
    def join(self, rows: list[int]) -> int:
        self.next_job += 1
        self.begin(self.next_job, rows)
        return self.next_job

    @rule(target=jobs, job=jobs, rest=st.booleans())
    def resume_under_another_name(self, job: int, rest: bool) -> object:
        if job not in self.rows:
            return multiple()
        self.sampler.remove(job)
        rows, read = self.rows.pop(job), self.read.pop(job)
        self.next_job += 1
        self.begin(self.next_job, sorted(rows - set(read)), rest, followed=True)
        return self.next_job

    @rule(target=jobs, job=jobs)
    def join_on_the_rows_of(self, job: int) -> object:
        """Equal sets are what users have most."""
        return self.join(sorted(self.rows[job])) if job in self.rows else multiple()

    @rule(target=jobs, job=jobs, fold=st.integers(0, 4))
    def join_on_a_fold_of(self, job: int, fold: int) -> object:
        if job not in self.rows:
            return multiple()
        rows = sorted(self.rows[job])
        return self.join([row for place, row in enumerate(rows) if place % 5 != fold])

    def begin(self, job: int, rows: list[int], rest: bool = False, followed: bool = False) -> None:
        self.sampler.add(job, np.array(rows, np.int64), rest=rest, followed=followed)
        self.rows[job] = set(rows)
        self.read[job] = []

    @rule(job=jobs, again=st.sampled_from(["all", "rest", "no", "other"]), rows=ROWS)
    def leave(self, job: int, again: str, rows: list[int]) -> None:
        """A job that returns may bring all its rows, what it had not read, or other rows."""
        if job not in self.rows:
            if again == "all":
                self.begin(job, rows)
            return
        self.sampler.remove(job)
        before, read = self.rows.pop(job), self.read.pop(job)
        if again == "rest":
            self.begin(job, sorted(before - set(read)), rest=True)
        elif again != "no":
            self.begin(job, sorted(before) if again == "all" else rows)

    @rule(job=jobs, rows=ROWS, same=st.booleans())
    def begin_the_next_pass(self, job: int, rows: list[int], same: bool) -> None:
        if job in self.rows:
            if len(self.read[job]) < len(self.rows[job]):
                with pytest.raises(JobExists):
                    self.sampler.add(job, rows)
            else:
                self.begin(job, sorted(self.rows[job]) if same else rows)

    @rule(data=st.data())
    def draw(self, data: st.DataObject) -> None:
        left = {job: len(self.rows[job]) - len(self.read[job]) for job in self.rows}
        counts = data.draw(
            st.fixed_dictionaries({}, optional={j: st.integers(0, n) for j, n in left.items()})
        )
        ahead = {job: self.sampler.ahead(job, 5) for job in counts}
        drawn = self.sampler.draw(counts)
        assert list(drawn) == list(counts)
        for job, rows in drawn.items():
            assert rows.dtype == np.int64
            assert rows.shape == (counts[job],)
            unread = self.rows[job] - set(self.read[job])
            assert len(set(ahead[job].tolist())) == ahead[job].size <= 5
            assert set(ahead[job].tolist()) <= unread
            self.read[job] += rows.tolist()

    @rule(reach=st.none() | st.integers(0, 40))
    def let_memory_change(self, reach: int | None) -> None:
        self.sampler.reach = reach

    @rule(data=st.data())
    def ask_for_too_much(self, data: st.DataObject) -> None:
        if self.rows:
            job = data.draw(st.sampled_from(sorted(self.rows)))
            left = len(self.rows[job]) - len(self.read[job])
            with pytest.raises(NotEnoughRows):
                self.sampler.draw({**dict.fromkeys(self.rows, 0), job: left + 1})
        with pytest.raises(UnknownJob):
            self.sampler.draw({"nobody": 1})
        with pytest.raises(BadRows):
            self.sampler.add("new", [1, 2, 1])

    @invariant()
    def every_row_is_read_exactly_once(self) -> None:
        for job, rows in self.rows.items():
            read = self.read[job]
            assert len(read) == len(set(read))
            assert self.sampler.remaining(job) == len(rows) - len(read)
            assert self.sampler.unread(job).tolist() == sorted(rows - set(read))

    @invariant()
    def what_nobody_has_is_never_used(self) -> None:
        distance = self.sampler.next_use(np.arange(40))
        known = np.array(sorted(set().union(*self.rows.values()) & set(range(40))), np.int64)
        others = np.setdiff1d(np.arange(40), known)
        assert not (distance[others] < np.inf).any()
        assert not (distance < 0).any()


SETTINGS = settings(
    max_examples=trials(300, 80),
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestStreams = Machine.TestCase
TestStreams.settings = SETTINGS


class OneGroupMachine(Machine):
    """The same where all sets that touch are in one group and follow streams, however unequal."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = streams_module.COMMON, group_module.UNEQUAL
        streams_module.COMMON, group_module.UNEQUAL = 0.0, 1e9

    def teardown(self) -> None:
        streams_module.COMMON, group_module.UNEQUAL = self.saved


TestOneGroup = OneGroupMachine.TestCase
TestOneGroup.settings = SETTINGS


@pytest.mark.slow
class TestStreamsLong(Machine.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(SETTINGS, max_examples=2_000, stateful_step_count=60)


@pytest.mark.slow
class TestOneGroupLong(OneGroupMachine.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(SETTINGS, max_examples=2_000, stateful_step_count=60)
