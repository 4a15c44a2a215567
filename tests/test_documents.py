"""Pages name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Where a path in a page may begin: a page on one room leaves the way to it out.
BEGINS = (*("", "src/joader", "docs", "tests"), *("src/joader/schedule", "src/joader/simulator"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|js|json))`", page.read_text()))
    missing = {name for name in named if not any((ROOT / b / name).exists() for b in BEGINS)}
    assert missing == set()
