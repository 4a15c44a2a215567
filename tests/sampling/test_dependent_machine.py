"""`DependentSampler` against brute force, under joins, leaves, partial draws, new passes."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from joader.errors import BadRows, JobExists, NotEnoughRows, UnknownJob
from joader.sampling import DependentSampler
from joader.sampling import dependent as dependent_module
from tests.sampling.groups import cells_of
from tests.trials import trials

ROWS = st.lists(st.integers(0, 30) | st.integers(2**32 - 5, 2**32 - 1), unique=True, max_size=25)


class Machine(RuleBasedStateMachine):
    """Two plain sets a job: what it has to read, and what it has read in its pass."""

    jobs = Bundle("jobs")
    rule_name = "shared"
    sampler_type = DependentSampler

    def __init__(self) -> None:
        super().__init__()
        self.sampler = self.sampler_type(7, self.rule_name)
        self.rows: dict[int, set[int]] = {}
        self.read: dict[int, list[int]] = {}
        self.drew: set[int] = set()
        self.next_job = 0

    @rule(target=jobs, rows=ROWS)
    def join(self, rows: list[int]) -> int:
        job = self.next_job
        self.next_job += 1
        self.begin(job, rows)
        return job

    @rule(target=jobs, job=jobs)
    def join_on_the_rows_of(self, job: int) -> object:
        """Equal sets and subsets are what users have most."""
        if job not in self.rows:
            return multiple()
        return self.join(sorted(self.rows[job]))

    def begin(self, job: int, rows: list[int]) -> None:
        self.sampler.add(job, np.array(rows, np.int64))
        self.rows[job] = set(rows)
        self.read[job] = []
        self.drew.discard(job)

    @rule(job=consumes(jobs))
    def leave(self, job: int) -> None:
        if job in self.rows:
            self.sampler.remove(job)
            del self.rows[job], self.read[job]

    @rule(job=jobs, rows=ROWS)
    def begin_the_next_pass(self, job: int, rows: list[int]) -> None:
        if job in self.rows:
            if len(self.read[job]) < len(self.rows[job]):
                with pytest.raises(JobExists):
                    self.sampler.add(job, rows)
            else:
                self.begin(job, rows)

    @rule(data=st.data())
    def draw(self, data: st.DataObject) -> None:
        left = {job: len(self.rows[job]) - len(self.read[job]) for job in self.rows}
        counts = data.draw(
            st.fixed_dictionaries({}, optional={j: st.integers(0, n) for j, n in left.items()})
        )
        drawn = self.sampler.draw(counts)
        assert list(drawn) == list(counts)
        for job, rows in drawn.items():
            assert rows.dtype == np.int64
            assert rows.shape == (counts[job],)
            self.read[job] += rows.tolist()
            self.drew |= {job} if counts[job] else set()

    @rule(data=st.data())
    def ask_for_too_much(self, data: st.DataObject) -> None:
        if self.rows:
            job = data.draw(st.sampled_from(sorted(self.rows)))
            left = len(self.rows[job]) - len(self.read[job])
            fine = dict.fromkeys(self.rows, 0)
            with pytest.raises(NotEnoughRows):
                self.sampler.draw({**fine, job: left + 1})
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
    def cells_are_the_sets_computed_from_scratch(self) -> None:
        needed: dict[tuple[int, frozenset[object]], set[int]] = {}
        groups = self.sampler._groups
        for number, group in enumerate(groups):
            jobs = [j for j in self.drew & set(self.rows) if self.sampler._jobs[j].group is group]
            for row in set().union(*(self.rows[j] for j in jobs)):
                who = frozenset(j for j in jobs if row in self.rows[j] - set(self.read[j]))
                if who:
                    needed.setdefault((number, who), set()).add(row)
        found = {
            (number, who): set(rows.tolist())
            for number in range(len(groups))
            for who, rows in cells_of(self.sampler, number)
        }
        assert found == needed
        for group in groups:
            assert len(group.cells) <= self.sampler.most_cells or self.rule_name != "shared"


class PaperMachine(Machine):
    rule_name = "paper"


class CommonMachine(Machine):
    rule_name = "common"


SETTINGS = settings(
    max_examples=trials(200, 60),
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestShared = Machine.TestCase
TestShared.settings = SETTINGS
TestPaper = PaperMachine.TestCase
TestPaper.settings = SETTINGS
TestCommon = CommonMachine.TestCase
TestCommon.settings = SETTINGS


class FewCells(DependentSampler):
    most_cells = 4


class CrowdedMachine(Machine):
    """The same with room for a few cells only, so that groups are parted all the time."""

    sampler_type = FewCells


TestCrowded = CrowdedMachine.TestCase
TestCrowded.settings = SETTINGS


class ProbingMachine(CrowdedMachine):
    """The same where overlaps are seen by chance only, and sets of unequal size are kept apart."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = (dependent_module.PROBE_ROWS, dependent_module.APART_ROWS)
        dependent_module.PROBE_ROWS, dependent_module.APART_ROWS = 2, 8

    def teardown(self) -> None:
        dependent_module.PROBE_ROWS, dependent_module.APART_ROWS = self.saved


TestProbing = ProbingMachine.TestCase
TestProbing.settings = settings(SETTINGS, max_examples=trials(400, 100))


@pytest.mark.slow
class TestSharedLong(Machine.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(SETTINGS, max_examples=2_000, stateful_step_count=60)


@pytest.mark.slow
class TestCrowdedLong(CrowdedMachine.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(SETTINGS, max_examples=2_000, stateful_step_count=60)
