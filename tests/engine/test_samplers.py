"""Which sampler a pass draws from, and in whose name."""

from itertools import combinations

import numpy as np
import pytest

from joader.engine.plan import Drawn, plan_of
from joader.engine.recipes import Recipes
from joader.engine.samplers import Samplers, sampler_of
from joader.messages import Begin, Join
from joader.sampling import DependentSampler, SequentialSampler, StreamSampler
from joader.sampling.generation import Clock
from joader.sampling.job_rows import JobRows

ROWS = 60
LIFE = 7


def orders() -> Samplers:
    return Samplers(sampler_of, seed=3)


def plan(
    of: Samplers, job: int, whom: str, order: str = "shared", seed: int | None = None
) -> Drawn:
    rows = JobRows(np.arange(ROWS), ROWS)
    join = Join(job, "photos", np.arange(ROWS), ROWS, 4, order=order, seed=seed)
    made = plan_of(join, job, rows, of, whom)
    assert isinstance(made, Drawn)
    return made


def read(one: Drawn, count: int) -> list[int]:
    """Draw so many for a pass, and return their positions."""
    numbers = one.sampler.draw({one.name: count})[one.name]
    return one.drew(numbers).places.tolist()


def test_each_order_has_one_sampler_and_jobs_of_their_own_order_have_their_own() -> None:
    of = orders()
    assert isinstance(of.sampler("shared"), StreamSampler)
    assert isinstance(of.sampler("joint"), DependentSampler)
    assert of.sampler("shared") is of.sampler("shared")
    assert isinstance(of.sampler("seeded"), SequentialSampler)
    assert of.sampler("given") is not of.sampler("given")


def test_passes_that_a_process_reads_at_a_time_are_drawn_apart() -> None:
    of = orders()
    one, other, else_ = plan(of, 1, "me"), plan(of, 2, "me"), plan(of, 3, "you")
    for made in (one, other, else_):
        made.begin(Begin(1), LIFE)
    assert one.sampler is else_.sampler is not other.sampler
    mine, again, yours = read(one, 3), read(other, 3), read(else_, 3)
    for part, which in ((mine, one), (again, other), (yours, else_)):
        part += read(which, ROWS - 3)
    assert mine == yours  # both follow the stream from its first row
    assert sorted(again) == list(range(ROWS))
    assert sum(a == b for a, b in zip(mine, again, strict=True)) < 10


def test_a_process_is_one_job_whichever_of_its_loaders_reads() -> None:
    of = orders()
    first, second = plan(of, 1, "me"), plan(of, 2, "me")
    first.begin(Begin(1), LIFE)
    read(first, ROWS)
    second.begin(Begin(2), LIFE)
    assert second.sampler is first.sampler
    assert second.name == first.name
    read(second, 10)
    first.end()  # its pass is over; the other's goes on
    assert not first.is_drawing
    assert len(read(second, ROWS - 10)) == ROWS - 10
    second.end()
    first.begin(Begin(1), LIFE)
    assert sorted(read(first, ROWS)) == list(range(ROWS))


@pytest.mark.parametrize(
    ("life", "known", "followed"),
    [(LIFE, False, True), (LIFE, True, True), (0, True, False), (8, False, False)],
)
def test_who_resumes_under_a_new_name_in_the_life_it_drew_in_has_followed(
    life: int, known: bool, followed: bool
) -> None:
    of = orders()
    leader, resumed = plan(of, 1, "leader"), plan(of, 2, "me")
    leader.begin(Begin(1), LIFE)
    if known:
        resumed.begin(Begin(2), LIFE)
        resumed.end()
    read(leader, 30)
    resumed.begin(Begin(2, done=np.arange(5), life=life), LIFE)
    theirs, mine = [], []
    for _ in range(10):
        theirs += read(leader, 3)
        mine += read(resumed, 3)
    # Blind draws are in an order of their own; a follower reads what the leader has just read.
    assert (len({*mine} & {*theirs}) < 22) is followed
    assert sorted(mine + read(resumed, 25)) == list(range(5, ROWS))


def test_a_pass_that_was_broken_off_and_left_gives_its_name_back() -> None:
    of = orders()
    for job in range(3):  # a loader for each epoch, none of them read to the end
        made = plan(of, job, "me")
        made.begin(Begin(job), LIFE)
        assert made.sampler is of.sampler("shared")
        read(made, 10)
        made.end()
        assert not of.holds("me", made)  # nor is it kept


def test_a_pass_apart_has_a_name_of_its_own() -> None:
    of = orders()
    one, other = plan(of, 1, "me"), plan(of, 2, "me")
    one.begin(Begin(1), LIFE)
    read(one, ROWS)
    other.begin(Begin(2), LIFE)
    read(other, 3)
    one.begin(Begin(1), LIFE)  # while the other draws in their name
    assert one.is_drawing
    assert one.sampler is not other.sampler
    read(one, 3)
    one.end()
    assert of.holds("me", other)
    assert sorted(read(other, ROWS - 3))


def test_a_seed_is_the_streams_if_all_its_jobs_give_it() -> None:
    def first_rows(*seeds: int | None) -> list[int]:
        of = orders()
        plans = [plan(of, job, str(job), seed=seed) for job, seed in enumerate(seeds)]
        for made in plans:
            made.begin(Begin(1), LIFE)
        return read(plans[0], 20)

    assert first_rows(5) == first_rows(5) != first_rows(6)
    assert first_rows(None) != first_rows(5)


def test_reach_is_told_to_streams_alone() -> None:
    of = orders()
    of.set_reach(9)  # nobody asked for a stream yet
    streams = of.sampler("shared")
    assert isinstance(streams, StreamSampler)
    of.set_reach(9)
    assert streams.reach == 9


# Streams that all nodes of a cluster follow.


def in_cluster(opened: int = 0) -> Samplers:
    return Samplers(sampler_of, seed=3, stream=99, opened=opened)


def test_nodes_with_one_stream_have_one_order_whatever_their_seeds() -> None:
    orders_read = []
    for seed in (1, 2):
        of = Samplers(sampler_of, seed, stream=99)
        one = plan(of, 1, "a process")
        one.begin(Begin(1), LIFE)
        orders_read.append(read(one, ROWS))
    assert orders_read[0] == orders_read[1]


def test_who_drew_on_another_node_draws_alone_until_a_newer_generation_is_there() -> None:
    of = in_cluster()
    of.hear([Clock(0, 4, 10, ROWS)])
    moved = plan(of, 1, "a process")
    moved.begin(Begin(1, life=LIFE + 1), LIFE)  # of another engine
    assert not isinstance(moved.sampler, StreamSampler)
    moved.end()
    moved.begin(Begin(1, life=LIFE), LIFE)  # its next pass, still of generations it may know
    assert not isinstance(moved.sampler, StreamSampler)
    moved.end()
    of.hear([Clock(0, 5, 1, ROWS)])
    moved.begin(Begin(1, life=LIFE), LIFE)
    assert isinstance(moved.sampler, StreamSampler)


def test_on_a_single_machine_another_life_is_no_reason_to_draw_alone() -> None:
    one = plan(orders(), 1, "a process")
    one.begin(Begin(1, life=LIFE + 1), LIFE)
    assert isinstance(one.sampler, StreamSampler)


def test_a_newcomer_begins_where_others_are_on_their_nodes() -> None:
    of, there = in_cluster(), in_cluster()
    other = plan(there, 1, "another process")
    other.begin(Begin(1), LIFE)
    read(other, 30)
    of.hear(there.clocks())
    one = plan(of, 1, "a process")
    one.begin(Begin(1), LIFE)
    assert read(one, 10) == read(other, 10)


def resumed_beside(stream: int, company: bool) -> tuple[list[int], list[int]]:
    """Return what a job has read before it goes on in a new process, and its next whole pass.

    A job of another node drives the generation, perhaps with one of this node.
    """
    here, there = (Samplers(sampler_of, 3, stream=stream) for _ in range(2))
    for of in (here, there):
        of.sampler("shared")
        of.set_reach(ROWS // 4)
    others = [plan(there, 1, "other"), *([plan(here, 3, "neighbor")] if company else [])]
    first, second = plan(here, 1, "before"), plan(here, 2, "resumed")
    for made in (first, *others):
        made.begin(Begin(1), LIFE)

    def steps(one: Drawn, times: int, count: int) -> list[int]:
        found = []
        for _ in range(times):
            here.hear(there.clocks())
            there.hear(here.clocks())
            found += read(one, count)
            for other in others:
                read(other, 2)
        return found

    early = steps(first, 5, 4)
    first.end()
    second.begin(Begin(2, done=np.array(early), life=LIFE), LIFE)
    steps(second, 4, 10)
    second.begin(Begin(2), LIFE)
    again = steps(second, 15, 4)
    assert here.latest == there.latest == 1  # else nothing was tried
    return early, again


@pytest.mark.parametrize("company", [False, True], ids=["alone on its node", "in company"])
def test_a_state_that_goes_on_in_a_new_process_brings_no_order_back(company: bool) -> None:
    same, runs = 0, 40
    for stream in range(1, runs + 1):
        early, again = resumed_beside(stream, company)
        place = {row: place for place, row in enumerate(again)}
        same += sum(place[a] < place[b] for a, b in combinations(early, 2))
    pairs = 20 * 19 // 2
    # Half of them by chance, with this variance; z is at most 5.
    assert abs(same / runs - pairs / 2) < 5 * (20 * 19 * 45 / 72 / runs) ** 0.5


def test_who_comes_back_to_a_node_that_has_forgotten_reads_no_order_again() -> None:
    """Its daemon was started again; of the streams it knows how often they were opened before."""
    before, after = in_cluster(), in_cluster()
    first = plan(before, 1, "me")
    had = []
    for _ in range(3):
        first.begin(Begin(1), LIFE)
        had.append(read(first, ROWS))
    after.hear([], before.latest)
    again = plan(after, 1, "me")
    for _ in range(3):
        again.begin(Begin(1, life=LIFE), LIFE + 1)
        assert again.sampler is after.sampler("shared")  # nobody else reads: it opens the next
        had.append(read(again, ROWS))
    assert len({tuple(rows) for rows in had}) == 6
    beside = plan(after, 2, "another")
    beside.begin(Begin(2), LIFE + 1)
    assert tuple(read(beside, ROWS)) not in {tuple(rows) for rows in had}


def test_who_may_know_a_generation_begins_after_it_though_nothing_was_heard_of_it() -> None:
    here, there = in_cluster(), in_cluster()
    moved, other = plan(here, 1, "moved"), plan(there, 1, "other")
    other.begin(Begin(1), LIFE)
    theirs = read(other, 10)
    here.hear(there.clocks())
    here.bar("moved")
    here.hear([])  # a node that is not heard for a moment
    moved.begin(Begin(1, life=LIFE), LIFE + 1)
    here.hear(there.clocks())  # it was not gone
    assert read(moved, 10) != theirs
    assert here.latest == 2


def test_a_stream_goes_on_where_a_dataset_under_its_name_has_grown() -> None:
    recipes = Recipes(seed=1)
    read_in = []
    for rows in (ROWS, ROWS + 5):
        of = recipes.open("photos", rows, stream=99).samplers
        one = plan(of, 1, "me")
        one.begin(Begin(1), LIFE)
        read_in.append(read(one, ROWS))
        one.end()
    assert read_in[0] != read_in[1]
