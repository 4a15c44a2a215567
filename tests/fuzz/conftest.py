"""A daemon of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.conftest import Node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.down()
