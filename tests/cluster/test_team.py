"""One job whose ranks run on several nodes: real daemons, ids and bytes, steps and states."""

import itertools
import signal

import pytest

from joader.daemon.clocks import SALT_EVERY
from tests.cluster.nodes import Nodes
from tests.cluster.rank_jobs import rows_of, start, steps_of
from tests.processes.jobs import wait_until


@pytest.mark.parametrize(
    "locality", [pytest.param(False, marks=pytest.mark.slow), True], ids=["uniform", "local"]
)
def test_ranks_on_two_nodes_read_one_plan(nodes: Nodes, locality: bool) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "ab", rows=301, epochs=2, loader={"locality": locality})
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    for number in range(2):
        rows = rows_of(steps_of(results, number))
        assert sorted(set(rows)) == list(range(301))
        assert len(rows) == 302
    for *_, stats in results:
        assert stats == {"delivered": 302, "repeated": 2, "length": 19}


@pytest.mark.slow
def test_a_nursery_that_is_killed_on_one_node_ends_no_rank(nodes: Nodes) -> None:
    nodes.up("a", "b")
    each = {0: {"bereaved_after": [2, 9]}, 1: {"bereaved_after": [5, 9]}}
    ranks = start(nodes, "ab", rows=192, slow_s=0.003, of_rank=each)
    nodes.go(*ranks)
    rows = rows_of(steps_of([rank.result() for rank in ranks]))
    assert sorted(rows) == list(range(192))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["shared", "joint", "seeded", "given"])
def test_plain_processes_of_three_nodes_meet_in_any_order(nodes: Nodes, order: str) -> None:
    nodes.up("a", "b", "c")
    loader = {"shuffle": False} if order == "given" else {"order": order}
    options = {"rows": 200, "epochs": 2, "launcher": "none", "loader": loader}
    ranks = start(nodes, "bcab", **options)  # rank 0 is not where the leader is
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    for number in range(2):
        rows = rows_of(steps_of(results, number))
        assert sorted(rows) == list(range(200))
        if order == "given":
            assert rows == list(range(200))
    orders = [rows_of(steps_of(results, number)) for number in range(2)]
    assert (orders[0] == orders[1]) == (order == "given")


@pytest.mark.slow
def test_drop_last_and_few_rows(nodes: Nodes) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "aab", rows=53, batch_size=8, loader={"drop_last": True})
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    rows = rows_of(steps_of(results))
    assert len(rows) == len(set(rows)) == 48


@pytest.mark.slow
def test_ranks_read_what_their_nodes_have(nodes: Nodes) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "ab", rows=1024, batch_size=32, epochs=3)
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    for number in range(3):
        assert sorted(rows_of(steps_of(results, number))) == list(range(1024))
    # A rank sees mostly the same rows in each pass: those of its node.
    for rank in range(2):
        first, last = ({r for step in results[rank][n][0] for r in step} for n in (1, 2))
        assert len(first & last) > 0.85 * 512
    prepared = sum(nodes.prepared().values())
    assert prepared < 1.3 * 1024  # 64 are compared in each direction


@pytest.mark.slow
@pytest.mark.parametrize("places", ["abab", "a", "bbc"])
def test_a_state_resumes_on_other_nodes_and_ranks(nodes: Nodes, places: str) -> None:
    nodes.up("a", "b", "c")
    ranks = start(nodes, "ab", rows=400, batch_size=8, steps=10)
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    steps = steps_of(results)
    state = results[0][0][2]
    read = rows_of(steps)
    assert len(read) == 160
    (nodes.folder / "go").unlink()
    more = start(nodes, places, rows=400, batch_size=5, state=state, epochs=2)
    nodes.go(*more)
    results = [rank.result() for rank in more]
    rest = rows_of(steps_of(results))
    assert sorted(read + rest) == sorted(set(read + rest)) == list(range(400))
    assert set(rows_of(steps_of(results, 1))) == set(range(400))


def _half_read(nodes: Nodes, rows: int) -> None:
    wait_until(lambda: len(nodes.prepared()) >= rows, 30)


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["host", "other"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_meet_again_when_a_daemon_ends(nodes: Nodes, whose: str, number: int) -> None:
    nodes.rejoins = True
    nodes.up("a", "b", "c")
    ranks = start(nodes, "bcb", rows=1500, rest_s=0.01, epochs=2)
    nodes.go(*ranks)
    _half_read(nodes, 500)
    nodes.kill("b" if whose == "host" else "c", number)
    results = [rank.result(90) for rank in ranks]
    for epoch in range(2):
        assert sorted(rows_of(steps_of(results, epoch))) == list(range(1500))


@pytest.mark.slow
def test_ranks_meet_again_when_a_cable_was_pulled(nodes_apart: Nodes) -> None:
    nodes = nodes_apart
    nodes.up("a", "b")
    ranks = start(nodes, "ba", rows=1500, rest_s=0.01)
    nodes.go(*ranks)
    _half_read(nodes, 500)
    nodes.pull("b")
    wait_until(lambda: all(" anew" in nodes.log(name) for name in "ab"), 20)
    nodes.plug("b")
    results = [rank.result(90) for rank in ranks]
    assert sorted(rows_of(steps_of(results))) == list(range(1500))


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_rank_that_is_killed_ends_the_pass_for_all(nodes: Nodes, killed: int) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "abb", rows=3000, rest_s=0.01)
    nodes.go(*ranks)
    _half_read(nodes, 300)
    ranks[killed].process.kill()
    for rank in ranks:
        if rank is not ranks[killed]:
            _, errors = rank.process.communicate(timeout=30)
            assert f"rank {killed} of job" in errors
            assert "has left in the middle of the pass" in errors


@pytest.mark.slow
def test_a_rank_says_whom_it_waits_for(nodes: Nodes) -> None:
    nodes.up("a", "b")
    for places, missing in (("ab", 0), ("ba", 1)):
        ranks = start(nodes, places, rows=100, loader={"timeout": 1})
        ranks[missing].process.kill()
        other = ranks[1 - missing]
        other.ready()
        (nodes.folder / "go").touch()
        _, errors = other.process.communicate(timeout=30)
        assert "Overdue" in errors
        assert f"rank {missing} " in errors
        assert "is not here, or gone" in errors


@pytest.mark.slow
def test_ranks_that_read_other_data_are_refused(nodes: Nodes) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "ab", rows=100, of_rank={1: {"batch_size": 9}})
    nodes.go(*ranks)
    _, errors = ranks[1].process.communicate(timeout=30)
    assert "reads other data, or other batches" in errors
    ranks[0].process.kill()


@pytest.mark.slow
def test_homes_are_drawn_anew_after_some_passes(nodes: Nodes) -> None:
    nodes.up("a", "b")
    # A pass of 5 steps takes three ticks: by then all nodes have heard of its generation.
    options = {"rows": 320, "batch_size": 32, "slow_s": 0.0, "states": False, "rest_s": 0.06}
    ranks = start(nodes, "ab", epochs=SALT_EVERY + 3, **options)
    nodes.go(*ranks)
    results = [rank.result(90) for rank in ranks]
    for number in range(SALT_EVERY + 3):
        assert sorted(rows_of(steps_of(results, number))) == list(range(320))
    read = [{row for step in steps for row in step} for steps, *_ in results[0][:-1]]
    same = [len(one & other) for one, other in itertools.pairwise(read)]
    assert min(same[2 : SALT_EVERY - 2]) > 0.8 * 160  # a rank reads what its node has …
    assert min(same[SALT_EVERY - 2 :]) < 0.65 * 160  # … and then other rows
