"""A cluster of its own for each test, and a look at what is left when it is gone."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.nodes import Nodes, namespaces_work


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    cluster = Nodes(tmp_path)
    yield cluster
    cluster.down()


@pytest.fixture
def nodes_apart(tmp_path: Path) -> Iterator[Nodes]:
    if not namespaces_work():
        pytest.skip("needs root and network namespaces (ip netns)")
    cluster = Nodes(tmp_path, apart=True)
    yield cluster
    cluster.down()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines in a loop of their own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
