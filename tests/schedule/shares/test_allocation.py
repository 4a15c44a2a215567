"""From measured jobs to shares and reasons."""

import math
from dataclasses import asdict

import pytest

from joader.errors import BadArgument
from joader.messages import Prepared
from joader.schedule.dispatch import Dispatch
from joader.statistics import ReadStatistics, ShareStatistics, WorkStatistics
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor


def known(floor: Floor, job: int, row_s: float, own_s: float = 0.0) -> None:
    """Let the costs of a job's rows and own parts be known."""
    queue = floor.dispatch.staff.crew_of[job].queue
    for _ in range(60):
        queue.shared.pace.note(row_s, 1)
        if own_s:
            queue.own_pace.note(own_s, 1)
    if own_s:
        floor.dispatch.staff.accounts.of_job(job)


def reads(floor: Floor, job: int, per_s: float, wait_s: float = 0.0, batch: int = 10) -> None:
    """Let a job say that it takes so many samples per second when it does not wait."""
    for _ in range(40):
        floor.dispatch.wanted(job, batch, batch / per_s, wait_s, floor.now)


def shares(floor: Floor) -> dict[int, ShareStatistics]:
    floor.look()
    return floor.dispatch.allocation.statistics(floor.now)


@pytest.fixture
def three() -> Floor:
    """Three jobs of steps 1 : 3 : 9 on three datasets; the fastest could use the whole pool."""
    floor = Floor(cores=2)
    for job, per_s in ((1, 500.0), (2, 500 / 3), (3, 500 / 9)):
        floor.join(job, f"code {job}", workers=2)
        known(floor, job, 0.004)
        reads(floor, job, per_s)
    return floor


def test_fair_gives_all_to_who_wants_little_and_the_rest_to_the_others(three: Floor) -> None:
    found = shares(three)
    assert [one.share for one in found.values()] == pytest.approx(
        [2 - 8 / 9, 6 / 9, 2 / 9], rel=0.01
    )
    assert [one.needed for one in found.values()] == pytest.approx([2, 6 / 9, 2 / 9], rel=0.01)
    assert found[3].reason == "fair: as much as its rows compute"
    assert found[1].reason == "fair: jobs that want more get equal shares, by weight"
    assert found[1].predicted_per_s == pytest.approx(500 * (1 - 4 / 9), rel=0.01)
    assert found[3].predicted_per_s == pytest.approx(500 / 9, rel=0.01)


def test_even_reserves_and_says_so(three: Floor) -> None:
    three.dispatch.set_policy("even", three.now)
    found = shares(three)
    assert [one.share for one in found.values()] == pytest.approx([2 / 3] * 3)
    assert "reserved" in found[2].reason
    three.dispatch.set_policy("fair", three.now)
    accounts = three.dispatch.staff.accounts.recipes.values()
    assert all(account.quota is None for account in accounts)


def test_throughput_takes_from_each_alike_where_rows_cost_the_same(three: Floor) -> None:
    three.dispatch.set_policy("throughput", three.now)
    known(three, 2, 0.0041)  # nearly the same, as measured costs are
    found = shares(three)
    lost = [(one.needed or 0.0) - one.share for one in found.values()]
    assert lost[0] == pytest.approx(lost[1], abs=0.1)
    assert found[3].share == pytest.approx(2 / 32)
    assert sum(one.share for one in found.values()) == pytest.approx(2.0)
    assert "most samples per second" in found[1].reason


def test_a_weight_can_be_changed_and_must_be_one(three: Floor) -> None:
    reads(three, 2, 5000)
    reads(three, 3, 5000)
    three.dispatch.set_weight(1, 2.0, three.now)
    assert [one.share for one in shares(three).values()] == pytest.approx([1.0, 0.5, 0.5])
    for bad in (0.0, math.nan, math.inf, -1.0):
        with pytest.raises(BadArgument, match="weight is"):
            three.dispatch.set_weight(1, bad, three.now)
    with pytest.raises(BadArgument, match="brings no workers"):
        three.dispatch.set_weight(77, 1.0, three.now)


def test_who_asks_for_nothing_holds_nothing(three: Floor) -> None:
    three.later(3.0)
    for job in (1, 2):
        reads(three, job, 5000)
    found = shares(three)
    assert [one.share for one in found.values()] == pytest.approx([1.0, 1.0, 0.0])
    assert found[3].reason == "nothing of it waits for a worker now"


def test_jobs_that_share_rows_have_their_weights_together_and_need_each_row_once() -> None:
    floor = Floor(cores=3)
    for job, code in ((1, "a"), (2, "a"), (3, "b")):
        floor.join(job, code, workers=2)
        known(floor, job, 0.01)
        reads(floor, job, 1000.0)
    for seconds in range(20):
        floor.now += 0.5
        for job in (1, 2, 3):
            floor.dispatch.wanted(job, 10, 0.01, 0.0, floor.now)
        each = ReadStatistics(delivered=500 * seconds, prepared=250 * seconds)
        alone = ReadStatistics(delivered=500 * seconds, prepared=500 * seconds)
        floor.dispatch.look(floor.now, {}, {1: each, 2: each, 3: alone})
    found = floor.dispatch.allocation.statistics(floor.now)
    # Two jobs at once: their recipe has two thirds, and each of them is charged a half of it.
    assert [one.share for one in found.values()] == pytest.approx([1.0, 1.0, 1.0], rel=0.02)
    assert found[1].needed == pytest.approx(1000 * 0.5 * 0.01, rel=0.05)


def test_a_jobs_weight_is_split_over_its_rows_and_its_own_parts() -> None:
    floor = Floor(cores=2)
    floor.join(1, "a", workers=2)
    floor.join(2, "b", workers=2)
    known(floor, 1, 0.004, own_s=0.012)
    known(floor, 2, 0.004)
    for job in (1, 2):
        reads(floor, job, 10_000)
    found = shares(floor)
    assert [one.share for one in found.values()] == pytest.approx([1.0, 1.0], rel=0.02)
    accounts = floor.dispatch.staff.accounts
    ratio = accounts.of_job(1).share / accounts.of_recipe("a").share
    assert ratio == pytest.approx(3.0, rel=0.02)
    assert found[1].predicted_per_s == pytest.approx(1 / 0.016, rel=0.02)


def test_what_a_sample_costs_workers_is_told_with_what_they_waited_for() -> None:
    floor = Floor(cores=2)
    floor.join(1, "a", workers=2)
    queue = floor.dispatch.staff.crew_of[1].queue
    assert shares(floor)[1].work == WorkStatistics()
    for _ in range(60):
        queue.shared.pace.note(0.016, 1, computed_s=0.002, waited_s=0.001)
        queue.own_pace.note(0.004, 1, computed_s=0.001, waited_s=0.0)
    reads(floor, 1, 100.0, wait_s=1.0)
    expected = WorkStatistics(computing_s=0.003, storage_s=0.001, core_s=0.016, own_s=0.004)
    assert shares(floor)[1].work == approximately(expected)
    # Whoever prepares its rows: it waits as long for those that others prepare.
    floor.join(2, "a", workers=2)
    for seconds in range(40):
        prepares = ReadStatistics(delivered=1000 * seconds, prepared=1000 * seconds)
        takes = ReadStatistics(delivered=1000 * seconds, prepared=0, hits=1000 * seconds)
        floor.dispatch.look(floor.now + seconds / 2, {}, {1: takes, 2: prepares})
    assert shares(floor)[1].work == approximately(expected)
    assert shares(floor)[2].work.core_s == pytest.approx(0.013)


def approximately(work: WorkStatistics) -> WorkStatistics:
    """Return figures that equal others within five percent."""
    near = {name: pytest.approx(value, rel=0.05) for name, value in asdict(work).items()}
    return WorkStatistics(**near)


def test_ranks_have_one_weight_together() -> None:
    floor = Floor(cores=2)
    for job in (1, 2):
        floor.come(job, f"ticket {job}", "a", workers=1, team="ranks")
    floor.come(3, "ticket 3", "b", workers=2)
    for job in (1, 2, 3):
        known(floor, job, 0.01)
        reads(floor, job, 10_000)
    found = shares(floor)
    assert found[1].share + found[2].share == pytest.approx(found[3].share, rel=0.02)


def test_what_is_left_behind_by_jobs_that_leave_is_forgotten(three: Floor) -> None:
    shares(three)
    for job in (1, 2, 3):
        three.leave(job)
    three.later(4.0)
    assert three.dispatch.staff.accounts.recipes == {}
    assert three.dispatch.allocation.statistics(three.now) == {}


def test_a_ceiling_is_what_is_divided(three: Floor) -> None:
    three.dispatch.set_ceiling(0.5, three.now)
    assert sum(one.share for one in shares(three).values()) == pytest.approx(1.0)
    assert three.dispatch.schedule().active == 1.0
    three.dispatch.set_ceiling(1.0, three.now)
    assert three.dispatch.staff.accounts.ceiling is None


def test_what_workers_say_of_their_time_is_charged_as_they_computed(floor: Floor) -> None:
    floor.join(1, workers=1)
    worker = floor.worker_of(1, *range(20))
    worker.report(*worker.has)
    before = floor.dispatch.staff.accounts.of_recipe("code").used_s
    done = tuple(worker.has)
    expected = len(done) * worker.state.crew.queue.shared.pace.computing_s
    worker.say(Prepared(done, (SLOT_BYTES,), (LAYOUT,), 1.0, 0.25, 0.75))
    pace = worker.state.crew.queue.shared.pace
    now = floor.dispatch.staff.accounts.of_recipe("code").used_s
    handed_out = len(worker.has) * pace.computing_s
    assert now - before == pytest.approx(0.25 - expected + handed_out, rel=0.2)
    assert worker.state.crew.queue.computing == pytest.approx(0.25)


def test_jobs_that_run_elsewhere_on_the_machine_bring_their_cores() -> None:
    floor = Floor(cores=2)
    floor.dispatch = Dispatch(2, 1 << 30, most_cores=16)
    here, there = {"home": "/ on 0,1", "cores": 2}, {"home": "/ on 4,5,6,7", "cores": 4}
    for job, home in ((1, here), (2, here), (3, there)):
        floor.come(job, f"ticket {job}", f"code {job}", **home)
        floor.look()
    assert floor.dispatch.schedule().active == 6.0
    floor.leave(3)
    floor.later(4.0)
    assert floor.dispatch.schedule().active == 2.0


def test_who_says_how_many_may_be_active_is_obeyed_wherever_jobs_run() -> None:
    floor = Floor(cores=2)
    floor.come(1, "ticket 1", "code", home="/ on 4,5,6,7", cores=4)
    floor.look()
    assert floor.dispatch.schedule().active == 2.0


def test_a_job_that_has_waited_for_long_is_not_taken_for_idle(three: Floor) -> None:
    three.prepare(3, *range(100), code="code 3")
    three.now += 30.0
    for job in (1, 2):
        reads(three, job, 5000)
    found = shares(three)
    assert found[3].share == pytest.approx(2 / 9, rel=0.01)


def test_who_comes_back_after_a_change_of_policy_has_no_share_of_the_old_one(three: Floor) -> None:
    three.dispatch.set_policy("throughput", three.now)
    account = three.dispatch.staff.accounts.of_recipe("code 3")
    shares(three)
    assert account.share < 0.1
    three.later(3.0)
    three.dispatch.set_policy("fair", three.now)
    for job in (1, 2):
        reads(three, job, 5000)
    shares(three)
    assert account.share == pytest.approx(1.0)


def apart(floor: Floor, **homes: int) -> None:
    """Let jobs 1, 2, … come with workers that run on so many processors each, or under a quota."""
    for job, (home, cores) in enumerate(homes.items(), 1):
        name = f"/{home} on " + ",".join(str(10 * job + n) for n in range(cores))
        floor.come(job, f"ticket {job}", f"code {job}", workers=2, home=name, cores=cores)
        known(floor, job, 0.004)
        reads(floor, job, 1e6)


def test_jobs_on_disjoint_processors_get_those_of_their_own() -> None:
    floor = Floor(cores=1)
    floor.dispatch = Dispatch(1, 1 << 30, most_cores=16)
    apart(floor, small=1, large=7)
    floor.dispatch.look(floor.now, {})
    found = floor.dispatch.allocation.statistics(floor.now)
    assert [one.share for one in found.values()] == pytest.approx([1.0, 7.0], abs=0.01)
    floor.dispatch.set_policy("throughput", floor.now)
    found = floor.dispatch.allocation.statistics(floor.now)
    assert [one.share for one in found.values()] == pytest.approx([1.0, 7.0], abs=0.01)
    floor.dispatch.set_ceiling(0.5, floor.now)
    found = floor.dispatch.allocation.statistics(floor.now)
    assert [one.share for one in found.values()] == pytest.approx([0.5, 3.5], abs=0.01)
    assert floor.dispatch.schedule().cores == 8


def test_a_flow_is_solved_when_something_changes_and_not_again() -> None:
    floor = Floor(cores=1)
    floor.dispatch = Dispatch(1, 1 << 30, most_cores=16)
    apart(floor, small=1, large=7)
    floor.dispatch.look(floor.now, {})
    solved = floor.dispatch.allocation._flow
    floor.dispatch.look(floor.now + 0.5, {})
    assert floor.dispatch.allocation._flow is solved
    reads(floor, 2, 100.0)
    floor.dispatch.look(floor.now + 1.0, {})
    assert floor.dispatch.allocation._flow is not solved
