"""Turns between crews: as many at work as there are processors, and time by shares."""

from collections import Counter

import pytest

from joader.messages import Prepared
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Nursery, Worker


def two_crews(cores: int = 2, workers: int = 4, **second: object) -> Floor:
    """Return a floor with two jobs of other code, whose rows are known to compute for 10 ms."""
    floor = Floor(cores)
    for job, code in ((1, "a"), (2, "b")):
        floor.come(job, f"ticket {job}", code, workers=workers, **(second if job == 2 else {}))
        floor.dispatch.attend(f"ticket {job}")
    for job in (1, 2):
        crew = floor.dispatch.staff.crew_of[job]
        for number in range(workers):
            crew.born[number] = floor.now
            floor.workers.append(Worker(floor, f"ticket {job}", number))
        crew.queue.computing = 1.0
        for _ in range(60):
            crew.queue.shared.pace.note(0.01, 1)
    return floor


def at_work(floor: Floor) -> dict[str, int]:
    """Return how many workers of each crew have something in hand."""
    found: dict[str, int] = {}
    for worker in floor.workers:
        if worker.has:
            found[worker.ticket] = found.get(worker.ticket, 0) + 1
    return found


def play(floor: Floor, seconds: float, row_s: dict[str, float]) -> dict[str, float]:
    """Let at most as many workers run as report in turn; return rows' seconds per crew."""
    used = dict.fromkeys(row_s, 0.0)
    sample = 1_000_000
    end = floor.now + seconds
    while floor.now < end:
        for job, code in ((1, "a"), (2, "b")):
            queue = floor.dispatch.staff.crew_of[job].queue
            more = range(sample, sample + max(0, 20 - len(queue)))
            sample += len(more)
            if more:
                floor.prepare(job, *more, code=code)
        busy = [worker for worker in floor.workers if worker.has]
        floor.now += 0.01
        for worker in busy:
            code = worker.state.crew.code
            count = max(1, round(0.01 / row_s[code] / max(1, len(busy) / 2)))
            done = tuple(worker.has[:count])
            took_s = len(done) * row_s[code]
            used[code] += took_s
            worker.say(Prepared(done, (SLOT_BYTES,), (LAYOUT,), took_s, took_s, 0.0))
    total = sum(used.values())
    return {code: one / total for code, one in used.items()}


def test_no_more_are_at_work_than_there_are_processors() -> None:
    floor = two_crews()
    floor.prepare(1, *range(100), code="a")
    floor.prepare(2, *range(100, 200), code="b")
    assert sum(at_work(floor).values()) == 2


def test_all_processors_are_one_jobs_while_nobody_else_wants_them() -> None:
    floor = two_crews(cores=3)
    floor.prepare(1, *range(100), code="a")
    assert at_work(floor) == {"ticket 1": 3}


def test_the_turn_is_of_who_has_had_less_whoever_has_finished() -> None:
    floor = two_crews(cores=1)
    floor.prepare(1, *range(100), code="a")
    floor.prepare(2, *range(100, 200), code="b")
    (first,) = [worker for worker in floor.workers if worker.has]
    assert first.ticket == "ticket 1"
    first.report(*first.has[:-1], row_s=0.01)
    assert at_work(floor) == {"ticket 1": 1, "ticket 2": 1}  # the first has one row left
    assert len(first.has) == 1
    first.report(*first.has, row_s=0.01)
    assert at_work(floor) == {"ticket 2": 1}


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_time_goes_by_weight_whatever_rows_cost_and_however_many_workers_came(
    weight: float,
) -> None:
    floor = two_crews(weight=weight)
    floor.dispatch.staff.accounts.of_recipe("b").share = weight
    shares = play(floor, 3.0, {"a": 0.01, "b": 0.002})
    assert shares["b"] == pytest.approx(weight / (1 + weight), abs=0.05)


def test_workers_that_wait_for_a_disk_do_not_count_for_much() -> None:
    floor = two_crews(workers=8)
    for job in (1, 2):
        floor.dispatch.staff.crew_of[job].queue.computing = 0.25
    floor.prepare(1, *range(100), code="a")
    floor.prepare(2, *range(100, 200), code="b")
    assert sum(at_work(floor).values()) == 8  # a quarter of a processor each


def test_rows_that_are_not_known_yet_are_given_to_all() -> None:
    floor = Floor(2)
    floor.join(1, workers=4)
    floor.prepare(1, *range(100))
    floor.settle()
    assert at_work(floor) == {"ticket 1": 4}


def test_a_worker_that_hangs_keeps_nobody_from_its_processor() -> None:
    floor = two_crews(cores=1)
    floor.prepare(1, *range(100), code="a")
    (hangs,) = [worker for worker in floor.workers if worker.has]
    floor.prepare(2, *range(100, 200), code="b")
    assert at_work(floor) == {"ticket 1": 1}
    floor.later(1.6)
    assert at_work(floor)["ticket 2"] == 1
    assert hangs.has


def test_who_has_had_more_than_those_at_work_waits_for_a_free_processor() -> None:
    floor = two_crews(cores=1)
    floor.dispatch.staff.accounts.of_recipe("b").charge(5.0)
    floor.prepare(1, *range(4), code="a")
    (first,) = [worker for worker in floor.workers if worker.has]
    floor.prepare(2, *range(100, 200), code="b")
    first.report(*first.has[:-1], row_s=0.01)  # it runs low, and nothing waits for it now
    assert at_work(floor) == {"ticket 1": 1}
    first.report(*first.has, row_s=0.01)
    assert at_work(floor) == {"ticket 2": 1}


def test_nothing_more_is_born_while_all_processors_are_busy() -> None:
    floor = two_crews(cores=1, workers=1)
    crew = floor.dispatch.staff.crew_of[1]
    crew.most = 4
    floor.prepare(1, *range(100), code="a")
    assert not crew.born


@pytest.mark.parametrize("code", ["code", "other"])
def test_who_comes_while_all_processors_are_busy_gets_workers_in_its_turn(code: str) -> None:
    """Also if it shares what the others prepare: its own parts can be done by nobody else."""
    floor = Floor(cores=4)
    floor.join(1, "code")
    floor.join(2, code)
    sample = 10_000
    for turn in range(150):
        for job in (1, 2)[: 1 + (turn >= 10)]:
            for _ in range(40 - len(floor.dispatch.staff.crew_of[job].queue)):
                sample += 1
                if job == 1 or code == "other":
                    floor.prepare(job, sample, code=("code", code)[job - 1])
                else:
                    floor.finish(sample, 5, LAYOUT, job)
        floor.later(0.01)
        for worker in [worker for worker in floor.workers if worker.has]:
            worker.report(worker.has[0], row_s=0.01)
    assert len(floor.of("ticket 1")) == 4
    assert 2 <= len(floor.of("ticket 2")) <= 4


def test_a_crew_whose_one_worker_is_behind_with_own_parts_gets_another() -> None:
    """Though they are few: a job wants a few batches ahead, and no more of them can wait."""
    floor = Floor(cores=4)
    floor.join(1, workers=8)
    floor.join(2, workers=8)
    sample = 10_000
    for _ in range(100):
        queues = [floor.dispatch.staff.crew_of[job].queue for job in (1, 2)]
        for _ in range(40 - len(queues[0])):
            sample += 1
            floor.prepare(1, sample)
        for _ in range(11 - len(queues[1])):  # 0.11 s of work
            sample += 1
            floor.finish(sample, 5, LAYOUT, job=2)
        floor.later(0.01)
        for worker in [worker for worker in floor.workers if worker.has]:
            worker.report(worker.has[0], row_s=0.01)
    assert len(floor.of("ticket 2")) == 2


def test_who_has_no_processor_gets_no_part_of_what_waits() -> None:
    """Of many workers few may begin at a time: chunks that many could share would be crumbs."""
    floor = two_crews(cores=2, workers=16)
    floor.prepare(1, *range(8), code="a")
    assert sorted(len(worker.has) for worker in floor.workers if worker.has) == [4, 4]


def test_of_many_who_could_help_those_who_can_begin_share_what_waits() -> None:
    floor = Floor(cores=2)
    floor.come(1, "ticket 1", workers=4)  # its nursery is not here
    floor.come(2, "ticket 2", workers=16)
    floor.dispatch.attend("ticket 2")
    crew = floor.dispatch.staff.crew_of[2]
    for number in range(16):
        crew.born[number] = floor.now
        floor.workers.append(Worker(floor, "ticket 2", number))
    crew.queue.computing = 1.0
    for _ in range(60):
        crew.queue.shared.pace.note(0.01, 1)
    floor.prepare(1, *range(8))
    assert sorted(len(worker.has) for worker in floor.workers if worker.has) == [4, 4]


def test_a_quota_holds_rows_back_and_says_until_when() -> None:
    floor = two_crews(cores=2)
    floor.dispatch.set_policy("even", floor.now)
    for job in (1, 2):
        floor.dispatch.wanted(job, 16, 0.001, 0.0, floor.now)
    floor.look()
    account = floor.dispatch.staff.accounts.of_recipe("a")
    assert account.quota is not None
    assert account.quota.rate == pytest.approx(1.0)
    account.charge(3.0)
    floor.prepare(1, *range(100), code="a")
    assert at_work(floor) == {}
    assert floor.dispatch.feeds_in_s == pytest.approx(2.8, abs=0.1)
    floor.now += 3.0
    floor.feed()
    assert at_work(floor) == {"ticket 1": 2}


def test_no_more_workers_are_at_work_than_their_home_has_processors() -> None:
    """One job may use one core, another three others; each has as many at work as it may."""
    floor = Floor(cores=4)
    for job, home, cores in ((1, "/a on 0", 1), (2, "/b on 1,2,3", 3)):
        floor.come(job, f"ticket {job}", f"code {job}", workers=6, home=home, cores=cores)
        floor.nurseries[f"ticket {job}"] = Nursery(floor, f"ticket {job}")
    for round in range(30):
        for job in (1, 2):
            first = 1000 * (10 * round + job)
            floor.prepare(job, *range(first, first + 8), code=f"code {job}")
        floor.settle()
        busy = Counter(worker.ticket for worker in floor.workers if worker.has)
        if round > 5:  # what rows cost is known; one may be about to stop, and its successor begin
            assert 1 <= busy["ticket 1"] <= 2
            assert 3 <= busy["ticket 2"] <= 4
        floor.now += 0.02
        for worker in [one for one in floor.workers if one.has]:
            worker.report(worker.has[0], row_s=0.02)
    floor.dispatch.look(floor.now, {})
    assert floor.dispatch.schedule().cores == 4


def test_a_crew_whose_home_is_full_is_helped_from_another() -> None:
    floor = Floor(cores=4)
    for job, home in ((1, "/a on 0"), (2, "/b on 1,2,3")):
        floor.come(job, f"ticket {job}", workers=4, home=home, cores=1 if job == 1 else 3)
        floor.nurseries[f"ticket {job}"] = Nursery(floor, f"ticket {job}")
    floor.prepare(2, *range(16))
    floor.settle()
    while floor.has():
        floor.now += 0.02
        for worker in [one for one in floor.workers if one.has]:
            worker.report(*worker.has, row_s=0.02)
    floor.prepare(1, *range(100, 116))
    floor.settle()
    helps = {worker.ticket for worker in floor.workers if worker.has}
    assert helps == {"ticket 1", "ticket 2"}
