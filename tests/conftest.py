"""Fixed seeds: `make test` runs the same examples every time, `make test-all` new ones.

And a cache folder per test: what the daemon of one has learned must not help that of another; nor
what loaders of this process have.
"""

import gc
import os
import sys
import tempfile
from itertools import count

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, max_examples=50, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

_tests = count()
_caches = tempfile.TemporaryDirectory(prefix="joader-tests-")  # goes with the process


@pytest.hookimpl(tryfirst=True)  # before fixtures, some of which choose another
def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["JOADER_CACHE"] = os.path.join(_caches.name, str(next(_tests)))
    if (learned := sys.modules.get("joader.client.dataset.learned")) is not None:
        learned._known.clear()


def pytest_collection_finish() -> None:
    """Let the collector leave alone what stays to the end: 0.3 s for each test that calls it."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let libraries clear up after themselves, or they complain of what leaked."""
    gc.unfreeze()
