"""A page in a real browser, and what its console said."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.processes.jobs import wait_until

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NEEDS_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt install chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# Pictures for who wants to look: BROWSER_PICTURES=folder make test-browser
PICTURES = os.environ.get("BROWSER_PICTURES")
PATIENCE_S = 20.0


class Tab:
    """A page, and what its console said."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, **options}
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def picture(self, name: str) -> None:
        if PICTURES:
            path = Path(PICTURES)
            path.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=path / f"{name}.png", full_page=True)

    def until(self, expression: str) -> None:
        # Not playwright's own wait: it compiles text in the page, which the page's policy forbids.
        wait_until(lambda: self.page.evaluate(f"() => Boolean({expression})"), PATIENCE_S)

    def close(self) -> None:
        self.context.close()
