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


def test_the_tree_of_the_house_has_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, _, tree = page.partition("As a tree")
    lines = tree.split("```")[1].splitlines()
    package = ROOT / "src" / "joader"
    rooms = {
        init.parent.name
        for top in (package, ROOT / "papers")
        for init in top.rglob("__init__.py")
        if init.parent != package
    }
    assert rooms - set(re.findall(r"\b([a-z_]+)/", "\n".join(lines))) == set()


def test_nothing_says_to_install_a_package_that_is_not_ours() -> None:
    """`joader` is on no package index: whoever took the name would be installed."""
    endings = (".py", ".js", ".html", ".md", ".sh", "Makefile")
    folders = ("src", "docs", "examples", "benchmarks", "tests")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    texts = [path for path in (*found, *ROOT.iterdir()) if path.name.endswith(endings)]
    name = re.compile(rb"pip install (?:-+[\w-]+ )*['\"]?joader\b|[`'\" ]joader\[[a-z]+\][`'\"\n]")
    assert len(texts) > 500
    found = [path for path in texts if name.search(path.read_bytes())]
    assert [str(path.relative_to(ROOT)) for path in found] == []
