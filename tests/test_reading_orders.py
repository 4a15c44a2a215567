"""The docstring of a package names its modules: a newcomer opens them in that order."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "joader"
# One file per figure, named for it: docs/papers.md and `joader reproduce --list` name them.
LISTED_ELSEWHERE = {"papers/figures", "papers/live"}
# So few files need no order.
FEW = 4


def modules(package: Path) -> set[str]:
    return {file.stem for file in package.glob("*.py")} - {"__init__", "__main__"}


def place(package: Path) -> str:
    """Return where a package lies, as people write it."""
    return package.relative_to(SOURCE if package.is_relative_to(SOURCE) else ROOT).as_posix()


PACKAGES = [
    file.parent
    for top in (SOURCE, ROOT / "papers")
    for file in sorted(top.rglob("__init__.py"))
    if file.parent != SOURCE  # the rooms themselves are in docs/architecture.md
    and len(modules(file.parent)) >= FEW
    and place(file.parent) not in LISTED_ELSEWHERE
]


def named(package: Path) -> set[str]:
    """Return what the docstring has in backquotes, without the ending and the way to it."""
    words = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    return {word.removesuffix(".py") for word in re.findall(r"`([a-z_]+(?:\.py)?)`", words)}


@pytest.mark.parametrize("package", PACKAGES, ids=place)
def test_the_docstring_of_a_package_names_all_its_modules(package: Path) -> None:
    missing = sorted(modules(package) - named(package))
    assert not missing, (
        f"the reading order in {place(package)}/__init__.py does not name {', '.join(missing)}"
    )


def test_there_are_packages_to_look_at() -> None:
    assert {"daemon", "engine", "schedule", "client"} <= {package.name for package in PACKAGES}
