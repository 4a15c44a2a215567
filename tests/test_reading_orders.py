"""The docstring of a package names its modules: a newcomer opens them in that order."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "joader"
# One file per figure, named for it; a page or a command lists them.
LISTED_ELSEWHERE = {"simulator/papers", "cli/live"}
# So few files need no order.
FEW = 4


def modules(package: Path) -> set[str]:
    return {file.stem for file in package.glob("*.py")} - {"__init__", "__main__"}


PACKAGES = [
    file.parent
    for file in sorted(SOURCE.rglob("__init__.py"))
    if file.parent != SOURCE
    and len(modules(file.parent)) >= FEW
    and file.parent.relative_to(SOURCE).as_posix() not in LISTED_ELSEWHERE
]


def named(package: Path) -> set[str]:
    """Return what the docstring has in backquotes, without the ending and the way to it."""
    words = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    return {word.removesuffix(".py") for word in re.findall(r"`([a-z_]+(?:\.py)?)`", words)}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_the_docstring_of_a_package_names_all_its_modules(package: Path) -> None:
    missing = sorted(modules(package) - named(package))
    where = package.relative_to(SOURCE.parent.parent) / "__init__.py"
    assert not missing, f"the reading order in {where} does not name {', '.join(missing)}"


def test_there_are_packages_to_look_at() -> None:
    assert {"daemon", "engine", "schedule", "client"} <= {package.name for package in PACKAGES}
