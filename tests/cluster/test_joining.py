"""A node that joins takes what others have of its share: prepared once, and moved as it is read."""

import pytest

from tests.cluster.nodes import NodeJob, Nodes
from tests.processes.jobs import wait_until

ROWS = 1600
# A node that joins compares 64 rows with each of two others, and prepares them for that, and what
# its job reads meanwhile; one that was there compares 64 with it.
COMPARED = 2 * 64
MEANWHILE = 300


def a_pass_read(nodes: Nodes, pause: int, **options: object) -> list[NodeJob]:
    """Have two jobs read so much of a pass in step; return them, which wait now."""
    jobs = [nodes.job(name, rows=ROWS, pause=pause, **options) for name in "ab"]
    nodes.go(*jobs)
    for name in "ab":
        wait_until(lambda name=name: (nodes.folder / f"paused-{name}").exists(), 90)
    return jobs


def go_on(nodes: Nodes, jobs: list[NodeJob]) -> None:
    for name in "ab":
        (nodes.folder / f"go-on-{name}").touch()
    for job in jobs:
        job.result()


def fetched(nodes: Nodes, name: str) -> int:
    return int(nodes.status(name)["cluster"]["fetched"])


@pytest.mark.short
@pytest.mark.slow
def test_what_others_have_is_not_prepared_again_by_a_node_that_joins(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = a_pass_read(nodes, ROWS, slow_s=0.005)
    before = nodes.prepared()
    nodes.up("c")
    wait_until(lambda: nodes.members("a") == ["a", "b", "c"])
    assert fetched(nodes, "c") == 0  # nothing comes that nobody reads
    nodes.job("c", rows=ROWS, slow_s=0.005).result()
    # A third of the rows lives on c now; each has moved once, or is among those that are compared.
    again = nodes.prepared() - before
    assert sum(again.values()) < COMPARED + MEANWHILE < ROWS / 3
    assert max(again.values()) == 1
    assert ROWS - COMPARED - MEANWHILE < fetched(nodes, "c") <= ROWS
    assert nodes.status("c")["cluster"]["inherited"] > ROWS / 5
    go_on(nodes, jobs)


@pytest.mark.slow
def test_what_jobs_have_left_in_memory_serves_a_node_that_joins(nodes: Nodes) -> None:
    nodes.up("a", "b")
    go_on(nodes, a_pass_read(nodes, ROWS, slow_s=0.005))
    before = nodes.prepared()
    nodes.up("c")
    nodes.job("c", rows=ROWS, epochs=2, slow_s=0.005).result()
    assert sum((nodes.prepared() - before).values()) < COMPARED + MEANWHILE
    assert fetched(nodes, "c") <= ROWS


@pytest.mark.slow
def test_a_node_that_joins_amid_a_pass_prepares_its_share_of_the_rest_only(nodes: Nodes) -> None:
    memory = "4MiB"  # for two thirds of the rows
    nodes.up("a", "b", memory=memory)
    jobs = a_pass_read(nodes, ROWS // 2, epochs=2, slow_s=0.005)
    before = nodes.prepared()
    nodes.up("c", memory=memory)
    late = nodes.job("c", rows=ROWS, epochs=2, slow_s=0.005, go="late")
    nodes.go(late, word="late")
    wait_until(lambda: nodes.status("c")["jobs"] != [])
    go_on(nodes, jobs)
    late.result()
    rows = set(nodes.prepared()) - set(before)
    again = sum((nodes.prepared() - before).values()) - len(rows)
    assert again < ROWS / 2, (again, len(rows))


@pytest.mark.slow
def test_when_the_job_of_a_node_ends_others_take_what_it_has(nodes: Nodes) -> None:
    nodes.up("a", memory="4MiB")  # for five rows in six
    nodes.up("b")
    jobs = a_pass_read(nodes, ROWS)
    (nodes.folder / "go-on-b").touch()
    jobs[1].result()  # so its rows live on a
    before, came = nodes.prepared(), fetched(nodes, "a")
    nodes.job("a", rows=ROWS).result()
    # Three rows of each job that comes are compared with those that are here.
    assert sum((nodes.prepared() - before).values()) < 20
    assert fetched(nodes, "a") > came + ROWS / 8
    go_on(nodes, jobs[:1])
