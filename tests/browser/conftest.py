"""One browser for all tests, and a page of a node with four live jobs."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.tab import CHROMIUM, Tab
from tests.dashboard.conftest import Served, busy, served

__all__ = ["busy", "chromium", "served", "tab"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any, busy: Served) -> Iterator[Tab]:
    made = Tab(chromium, busy.url)
    made.until("document.querySelectorAll('#jobs tbody tr').length === 4")
    yield made
    made.close()
