"""Streams on several nodes: one order for all, and to each job still exactly a reshuffle.

The same statistics as for one node (test_streams.py) look at jobs that are spread over samplers of
one seed, which hear each other's clocks late.
"""

from collections.abc import Callable
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from joader.sampling import StreamSampler
from joader.sampling.generation import Clock
from joader.sampling.sampler import Counts, Draws, Job
from joader.sampling.stream_group import StreamGroup
from tests.sampling.passes import LIMIT, Scenario, play, scores
from tests.sampling.test_streams import SCENARIOS


class Nodes:
    """Jobs by number on several nodes; each hears of the others every so many draws."""

    def __init__(self, seed: int, reach: int, nodes: int, every: int) -> None:
        self.nodes = [StreamSampler(seed, 1, reach) for _ in range(nodes)]
        self.every, self.draws = every, 0

    def node(self, job: Job) -> StreamSampler:
        assert isinstance(job, int)
        return self.nodes[job % len(self.nodes)]

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0, behind: int = 0) -> None:
        self.node(job).add(job, rows, epoch, behind=behind)

    def remove(self, job: Job) -> None:
        self.node(job).remove(job)

    def remaining(self, job: Job) -> int:
        return self.node(job).remaining(job)

    def unread(self, job: Job) -> NDArray[np.int64]:
        return self.node(job).unread(job)

    def draw(self, counts: Counts) -> Draws:
        found: Draws = {}
        for node in self.nodes:
            found.update(node.draw({j: c for j, c in counts.items() if self.node(j) is node}))
        self.draws += 1
        if self.draws % self.every == 0:
            self.tell()
        return found

    def tell(self) -> None:
        said = [node.clocks() for node in self.nodes]
        for number, node in enumerate(self.nodes):
            node.hear([c for other, each in enumerate(said) if other != number for c in each])


def worst(make: Callable[[], Nodes], scenario: Scenario, passes: int) -> tuple[float, str]:
    datasets, found = scenario.datasets(), []
    for job, one in enumerate(play(make, scenario, passes, 1)):
        others = [rows for other, rows in enumerate(datasets) if other != job]
        classes = others if scenario.sets != "equal" else [np.arange(scenario.rows // 2)]
        found += [(z, name) for name, z in scores(one, scenario.rows, classes).items()]
    return max(found)


NAMES = ["offset", "half speed", "quarters", "folds", "behind the head", "leaving and returning"]


@pytest.mark.parametrize("name", NAMES)
def test_a_job_alone_cannot_be_told_from_one_that_reshuffles(name: str) -> None:
    scenario = SCENARIOS[name]
    z, statistic = worst(lambda: Nodes(1, scenario.reach, 2, 3), scenario, 300)
    assert z < LIMIT, statistic


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 3, 20])
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_many_passes_cannot_be_told_from_reshuffles(name: str, every: int) -> None:
    scenario = SCENARIOS[name].with_(wander=0.3)
    z, statistic = worst(lambda: Nodes(every, scenario.reach, 3, every), scenario, 2000)
    assert z < LIMIT, statistic


def test_a_node_that_forgets_who_read_a_generation_is_found_out() -> None:
    honest = StreamGroup.leave

    def forgets(self: StreamGroup, job: Job) -> None:
        honest(self, job)
        self._gone.clear()
        self._forgotten = 0

    scenario = Scenario((2, 1.3), (0, 0.2), leaves=0.05, wander=0.5)
    with mock.patch.object(StreamGroup, "leave", forgets):
        assert worst(lambda: Nodes(1, 2, 2, 1), scenario, 800)[0] > LIMIT
    assert worst(lambda: Nodes(1, 2, 2, 1), scenario, 800)[0] < LIMIT


def test_jobs_in_step_on_three_nodes_read_the_same_rows() -> None:
    nodes = Nodes(3, 50, 3, 1)
    for passes in range(3):
        drawn: list[list[int]] = [[], [], []]
        for job in range(3):
            nodes.add(job, np.arange(1000))
        for _ in range(100):
            for job, rows in nodes.draw(dict.fromkeys(range(3), 10)).items():
                assert isinstance(job, int)
                drawn[job] += rows.tolist()
        assert drawn[0] == drawn[1] == drawn[2], passes
        assert sorted(drawn[0]) == list(range(1000))


def test_who_comes_late_on_another_node_begins_where_the_others_are() -> None:
    nodes = Nodes(3, 50, 2, 1)
    nodes.add(0, np.arange(1000))
    first = [nodes.draw({0: 10})[0] for _ in range(40)]
    assert len(first) == 40
    nodes.add(1, np.arange(1000))
    together = nodes.draw({0: 10, 1: 10})
    assert together[0].tolist() == together[1].tolist()


def test_a_generation_that_was_left_is_not_read_again() -> None:
    sampler = StreamSampler(1, 1, 10)
    for _ in range(3):
        sampler.add(0, np.arange(100))
        sampler.draw({0: 100})
        sampler.remove(0)
        latest = sampler.latest
        # Another node reads what nobody reads here any more: who has read it is forgotten.
        sampler.hear([Clock(0, latest, 5, 100)])
        sampler.add(0, np.arange(100))
        sampler.draw({0: 1})
        assert sampler.latest == latest + 1
        sampler.hear([])
        sampler.remove(0)


def test_a_sampler_goes_on_with_the_numbers_of_one_before_it() -> None:
    before = StreamSampler(1, 1)
    before.add(0, np.arange(50))
    order = before.draw({0: 50})[0].tolist()
    after = StreamSampler(1, 1, opened=before.latest)
    after.add(0, np.arange(50))
    assert after.latest == before.latest
    assert after.draw({0: 50})[0].tolist() != order
    assert after.latest == before.latest + 1


def resumed_alone(nonce: int, silent: bool) -> tuple[list[int], list[int]]:
    """Return what a job read before it was resumed under a new name, and its next whole pass."""
    here, there, rows = StreamSampler(1, nonce, 6), StreamSampler(1, nonce, 6), np.arange(24)

    def steps(job: str, times: int, count: int) -> list[int]:
        found: list[int] = []
        for _ in range(times):
            here.hear(there.clocks())
            there.hear(here.clocks())
            found += here.draw({job: count})[job].tolist()
            there.draw({"other": 1})
        return found

    there.add("other", rows)
    here.add("before", rows)
    early = steps("before", 4, 2)
    rest = here.unread("before")
    here.hear(there.clocks())
    here.remove("before")
    if silent:
        here.hear([])
    here.add("resumed", rest, rest=True, followed=True)
    steps("resumed", 4, 4)
    here.add("resumed", rows)
    again = steps("resumed", 12, 2)
    assert here.latest == 1  # all in one generation, or nothing was tried
    return early, again


@pytest.mark.parametrize("silent", [False, True])
def test_who_resumes_alone_on_its_node_reads_nothing_in_the_order_it_had(silent: bool) -> None:
    """Another node drives the generation, and may be silent for the moment of the return."""
    same, runs = 0, 40
    for nonce in range(runs):
        early, again = resumed_alone(nonce, silent)
        place = {row: place for place, row in enumerate(again)}
        same += sum(place[a] < place[b] for a, b in combinations(early, 2))
    # 28 pairs a run, 14 by chance with a variance of 8 * 7 * 21 / 72; z is at most 5.
    assert abs(same / runs - 14) < 5 * (8 * 7 * 21 / 72 / runs) ** 0.5


def test_who_may_know_a_generation_does_not_begin_in_it_after_joint_draws_either() -> None:
    sampler = StreamSampler(1, 1, 10, opened=1)
    sampler.hear([Clock(0, 4, 10, 100)])
    sampler.add("small", range(20))
    sampler.draw({"small": 1})  # in the generation of the other node
    sampler.add("moved", range(100), after=5)
    sampler.draw({"small": 5, "moved": 5})  # of sets of so different sizes: jointly
    sampler.hear([Clock(0, 5, 10, 100)])
    sampler.remove("small")
    sampler.add("large", range(100))
    sampler.draw({"moved": 1, "large": 1})  # in a stream again
    followed = {
        job: sampler._groups[0].members[job].generation.number for job in ("moved", "large")
    }
    assert followed["moved"] == 6
    assert followed["large"] == 5
