"""A worker that keeps more and more is replaced between two rows, and no row is lost."""

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.odd_data import Odd
from tests.processes.test_bad_input import rows_of


def test_a_worker_that_leaks_is_replaced(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(node.run))
    node.up("16MiB", 2, "--worker-growth=50MB")
    assert sorted(rows_of(Odd(500, {-1: "leaks"}))) == list(range(500))
    assert node.log().count("the dataset keeps more and more; the worker is replaced") >= 2
    wait_until(lambda: node.workers() == [])


def test_a_large_dataset_is_no_leak(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(node.run))
    node.up("16MiB", 2, "--worker-growth=50MB")
    assert sorted(rows_of(Odd(400, {-1: "keeps_once"}))) == list(range(400))
    assert "is replaced" not in node.log()
