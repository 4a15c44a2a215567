"""What Prometheus gets: names by its convention, values as they are, few labels."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from joader.dashboard.metrics import MOST_JOBS, exposition
from joader.statistics import NodeStatistics
from tests.cli.top.node import CLUSTER, JOBS, NODE, job


def values(node: NodeStatistics) -> dict[tuple[str, str], float]:
    """Return all values by name and label."""
    found = {}
    for family in text_string_to_metric_families(exposition(node).decode()):
        for sample in family.samples:
            found[sample.name, "".join(sample.labels.values())] = sample.value
    return found


def test_counts_and_gauges_are_those_of_the_node() -> None:
    found = values(NODE)
    assert found["joader_up", ""] == 1
    assert found["joader_samples_delivered_total", ""] == 1200
    assert found["joader_samples_prepared_total", ""] == 300
    assert found["joader_work_saved_seconds_total", ""] == 120
    assert found["joader_cpu_saved_seconds_total", ""] == 90
    assert found["joader_memory_bytes", "several_jobs"] == 32 << 20
    assert found["joader_samples", "to_come"] == 5000
    assert found["joader_workers_busy_cores", ""] == 1.5
    assert found["joader_job_samples_delivered_total", "vit"] == 400
    assert found["joader_jobs", ""] == 3


def test_a_cluster_is_counted_where_there_is_one() -> None:
    assert ("joader_cluster_nodes", "") not in values(NODE)
    found = values(replace(NODE, cluster=CLUSTER))
    assert found["joader_cluster_nodes", ""] == 3
    assert found["joader_cluster_rows_fetched_total", ""] == 4575
    assert found["joader_cluster_rows_sent_total", ""] == 4467
    assert found["joader_cluster_fetched_bytes_total", ""] == 0


def test_without_a_daemon_only_that_is_said() -> None:
    assert values(NodeStatistics()) == {("joader_up", ""): 0}


def test_jobs_of_one_name_are_added_up_and_many_names_are_not_all_told() -> None:
    ranks = tuple(job(n, "ranks", wait_s=1.5) for n in range(4))
    assert values(replace(NODE, jobs=ranks))["joader_job_wait_seconds_total", "ranks"] == 6
    many = tuple(job(n, f"job {n}") for n in range(200))
    found = values(replace(NODE, jobs=many))
    told = [label for name, label in found if name == "joader_job_epoch"]
    assert len(told) == MOST_JOBS + 1
    assert found["joader_job_samples_delivered_total", "other"] == 400 * (200 - MOST_JOBS)


def test_names_of_jobs_cannot_break_the_text() -> None:
    hostile = job(1, 'a"} 1\nevil_total 7\n\\')
    found = values(replace(NODE, jobs=(hostile,)))
    assert ("evil_total", "") not in found
    assert found["joader_job_epoch", hostile.name] == 2


def test_every_metric_has_a_unit_that_prometheus_knows() -> None:
    for name, _ in values(replace(NODE, jobs=JOBS)):
        assert re.fullmatch(r"joader(_[a-z]+)+", name)
        assert not re.search(r"_(ms|mib|percent|minutes)(_|$)", name)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_has_nothing_to_say_against_it() -> None:
    run = subprocess.run(
        ["promtool", "check", "metrics"], input=exposition(NODE), capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr.decode()
