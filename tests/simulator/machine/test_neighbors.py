"""Several nodes on a virtual clock: what a cluster would prepare, and what goes between nodes."""

from dataclasses import replace

import pytest

from joader.schedule.nodes.trust import FIRST
from joader.simulator.machine.play import Outcome, play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Storage, Workload

ROWS = 1800
JOB = JobSpec("job", dataset="d", rows=ROWS, row_ms=0.1, sample_kb=3.0, batch=16, storage="disk")
SLOT = 3008


def played(*jobs: JobSpec, nodes: int = 3, rows_each: int = ROWS, **machine: object) -> Outcome:
    """Play jobs on nodes that have room for so many rows each; a read takes 10 ms."""
    spec = MachineSpec(nodes=nodes, memory=str(rows_each * SLOT), **machine)  # type: ignore[arg-type]
    return play(Workload(jobs, spec, {"disk": Storage(latency_ms=10.0)}))


def one_job_each(nodes: int = 3, **more: object) -> list[JobSpec]:
    job = replace(JOB, **more)
    return [replace(job, name=f"job {node}", node=node) for node in range(1, nodes + 1)]


def prepared(outcome: Outcome) -> int:
    return sum(node.prepared for node in outcome.nodes)


def test_a_row_is_prepared_once_but_for_what_is_compared_first() -> None:
    found = played(*one_job_each())
    assert [job.delivered for job in found.jobs] == [ROWS] * 3
    # Each node compares so many rows with each other one, and prepares its own while it does.
    assert [node.compared for node in found.nodes] == [2 * FIRST] * 3
    assert ROWS + FIRST <= prepared(found) <= ROWS + 3 * 2 * FIRST + 6 * FIRST
    assert not any(node.not_sent for node in found.nodes)
    # What a node delivers it has prepared, or fetched.
    for node in found.nodes:
        assert node.prepared + node.fetched == ROWS


def test_later_passes_prepare_nothing_if_all_rows_fit_together() -> None:
    once = played(*one_job_each(), rows_each=ROWS * 2 // 3)
    thrice = played(*one_job_each(epochs=3), rows_each=ROWS * 2 // 3)
    # But for what a node was asked for when its job ended.
    assert 0 <= prepared(thrice) - prepared(once) <= 32
    assert [job.delivered for job in thrice.jobs] == [3 * ROWS] * 3


def test_with_less_memory_rows_are_prepared_again_as_far_as_they_do_not_fit() -> None:
    once = played(*one_job_each(), rows_each=ROWS // 6)
    twice = played(*one_job_each(epochs=2), rows_each=ROWS // 6)
    again = prepared(twice) - prepared(once)
    assert 0.4 * ROWS < again < 0.75 * ROWS  # half of the rows have no place


def test_three_nodes_are_nearly_three_times_as_fast_as_each_alone() -> None:
    rows = 6000
    alone = played(replace(JOB, rows=rows), nodes=1, rows_each=rows)
    together = played(*one_job_each(rows=rows), rows_each=rows)
    assert alone.seconds / together.seconds == pytest.approx(3.0, rel=0.2)


def test_what_comes_slower_than_it_is_prepared_is_prepared() -> None:
    slow = played(*one_job_each(rows=2000), rows_each=2000, network_mb_per_s=0.1)
    quick = played(*one_job_each(rows=2000), rows_each=2000)
    assert sum(node.fetched for node in slow.nodes) < 0.2 * sum(
        node.fetched for node in quick.nodes
    )
    assert prepared(slow) > 0.9 * 3 * 2000


def test_a_node_without_room_for_others_serves_its_own_jobs() -> None:
    found = played(*one_job_each(batch=48), rows_each=130)
    assert [job.delivered for job in found.jobs] == [ROWS] * 3
    # Nothing can be compared, so nothing is taken from each other.
    assert [(node.compared, node.fetched) for node in found.nodes] == [(0, 0)] * 3


def test_a_node_whose_jobs_have_gone_is_no_home_any_more() -> None:
    first, *others = one_job_each(epochs=3)
    found = played(replace(first, epochs=1), *others)
    assert [job.delivered for job in found.jobs] == [ROWS, 3 * ROWS, 3 * ROWS]


def test_jobs_that_read_other_data_send_nothing() -> None:
    jobs = [replace(job, dataset=job.name) for job in one_job_each()]
    found = played(*jobs)
    assert [(node.prepared, node.fetched, node.compared) for node in found.nodes] == [
        (ROWS, 0, 0)
    ] * 3


def test_own_parts_are_made_of_what_came_from_another_node() -> None:
    found = played(*one_job_each(own_ms=0.2), rows_each=2 * ROWS)
    assert [job.delivered for job in found.jobs] == [ROWS] * 3
    assert min(node.fetched for node in found.nodes) > 100
