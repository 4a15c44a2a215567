"""Fixed seeds: `make test` runs the same examples every time, `make test-all` new ones.

And a cache folder per test: what the daemon of one has learned must not help that of another.
"""

import os
import tempfile
from itertools import count

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

_tests = count()


@pytest.fixture(scope="session", autouse=True)
def cache_of_all_tests():  # type: ignore[no-untyped-def]
    """Have one folder for the cache folders of all tests, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="joader-tests-") as folder:
        os.environ["JOADER_TESTS_CACHE"] = folder
        yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    folder = os.environ.get("JOADER_TESTS_CACHE", tempfile.gettempdir())
    os.environ["JOADER_CACHE"] = os.path.join(folder, str(next(_tests)))
