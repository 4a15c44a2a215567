"""Real daemons and jobs on several nodes: ids and bytes, and how often a row is prepared."""

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.nodes import Nodes, namespaces_work
from tests.processes.jobs import wait_until

needs_root = pytest.mark.skipif(not namespaces_work(), reason="needs root, for namespaces")


def test_a_row_is_prepared_on_one_node_and_read_on_both(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=900) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    prepared = nodes.prepared()
    assert set(prepared) == set(range(900))
    # 64 rows are compared in each direction, and what comes before that is prepared on both.
    assert sum(prepared.values()) < 1.5 * 900
    sent = [nodes.status(name)["cluster"]["sent"] for name in ("a", "b")]
    fetched = [nodes.status(name)["cluster"]["fetched"] for name in ("a", "b")]
    assert min(sent) > 100
    assert sorted(sent) == sorted(fetched)
    wait_until(lambda: all(one["used_bytes"] > 0 for one in nodes.status("a")["cluster"]["nodes"]))
    told = nodes.status("a")
    assert [one["budget_bytes"] for one in told["cluster"]["nodes"]] == [64 << 20] * 2
    assert [tier["name"] for tier in told["tiers"]] == ["memory", "other_nodes", "storage"]
    assert told["tiers"][1]["samples"] == fetched[0]
    wait_until(lambda: nodes.status("a")["cluster"]["totals"]["delivered"] == 1800)
    totals = nodes.status("a")["cluster"]["totals"]
    # As the jobs themselves have counted what they prepared; alone each says that it did it all.
    assert totals["prepared"] == sum(prepared.values())
    assert totals["saved"] == pytest.approx(1 - totals["prepared"] / 1800)


@pytest.mark.slow
def test_own_parts_are_made_of_rows_that_came_from_another_node(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=600, own=True) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    assert nodes.status("a")["cluster"]["fetched"] > 50


@pytest.mark.slow
def test_small_memory_loses_nothing(nodes: Nodes) -> None:
    nodes.up("a", "b", memory="1MiB")
    jobs = [nodes.job(name, rows=900, epochs=2) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()


@pytest.mark.slow
@pytest.mark.parametrize(
    "loader",
    [{"order": "shared"}, {"order": "seeded", "seed": 5}, {"shuffle": False}],
    ids=["shared", "seeded", "given"],
)
def test_jobs_on_two_nodes_read_the_same_rows_at_the_same_time(
    nodes: Nodes, loader: dict[str, Any]
) -> None:
    nodes.up("a", "b", memory="1MiB")  # for a fifth of the rows: who comes later finds nothing
    jobs = [nodes.job(name, rows=1600, loader=loader) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        rows, _ = job.result()  # ids and bytes are checked there
        assert rows == sorted(rows) or "shuffle" not in loader
    prepared = sum(nodes.prepared().values())
    assert prepared < 1.4 * 1600  # 128 are compared, and what comes before that; apart: 2 × 1600


@needs_root
def test_a_path_that_leads_to_another_file_is_never_shared(nodes: Nodes, tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.write_bytes(bytes(range(100)) * 400)
    # It differs in every row: the last byte of each is another.
    other.write_bytes((bytes(range(99)) + b"\xff") * 400)
    nodes.up("a", "b")
    mount = f'mount --bind {other} {data} && exec "$@"'
    read: dict[str, Any] = {"rows": 400, "file": str(data), "epochs": 4, "rest_s": 0.03}
    jobs = [
        nodes.job("a", **read),
        nodes.job("b", "unshare", "-m", "sh", "-c", mount, "sh", **read),
    ]
    nodes.go(*jobs)
    for job in jobs:
        job.result()  # each has compared all bytes with its own file
    for name in ("a", "b"):
        assert nodes.status(name)["cluster"]["fetched"] == 0
        assert "its files differ" in nodes.log(name)


@pytest.mark.slow
def test_status_shows_the_nodes(nodes: Nodes) -> None:
    nodes.up("a", "b")
    wait_until(lambda: nodes.members("a") == ["a", "b"])
    cluster = nodes.status("b")["cluster"]
    assert cluster["leader"] == "a"
    assert cluster["leader_reached"]
    assert cluster["name"] == "b"


@pytest.mark.slow
def test_over_a_slow_cable_rows_are_prepared_that_would_take_longer_to_come(
    nodes_apart: Nodes,
) -> None:
    nodes = nodes_apart
    nodes.up("a", "b")
    for name in ("a", "b"):
        nodes.limit(name, "500kbit")  # 50 ms for a row that takes 2 ms to prepare
    jobs = [nodes.job(name, rows=1500) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result(90)
    for name in ("a", "b"):
        cluster = nodes.status(name)["cluster"]
        assert cluster["too_dear"] > 2 * cluster["fetched"], cluster


@pytest.mark.slow
def test_a_dataset_that_does_not_say_it_is_deterministic_is_shared_if_it_is(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=900, epochs=2, deterministic=False) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    assert nodes.status("a")["cluster"]["fetched"] > 200


@pytest.mark.slow
def test_random_samples_are_not_shared_and_none_comes_twice(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [
        nodes.job(name, rows=400, epochs=3, deterministic=False, random=True) for name in "aabb"
    ]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    for name in ("a", "b"):
        assert nodes.status(name)["cluster"]["fetched"] == 0
        assert "or its code is random" in nodes.log(name)
