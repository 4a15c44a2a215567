"""The docstring of a package names its modules, and none that is not there: newcomers open them in
that order."""

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
    """Return the names of the modules and packages in a package."""
    files = {file.stem for file in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {init.parent.name for init in package.glob("*/__init__.py")}


def place(package: Path) -> str:
    """Return where a package lies, as people write it."""
    return package.relative_to(SOURCE if package.is_relative_to(SOURCE) else ROOT).as_posix()


ALL = [
    init.parent
    for top in (SOURCE, ROOT / "papers")
    for init in sorted(top.rglob("__init__.py"))
    if init.parent != SOURCE  # the rooms themselves are in docs/architecture.md
]
IN_ORDER = [
    package
    for package in ALL
    if len(modules(package)) >= FEW and place(package) not in LISTED_ELSEWHERE
]


def docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def named(text: str) -> set[str]:
    """Return what looks like a module's name in backquotes: one word of small letters."""
    return set(re.findall(r"`([a-z_]+)(?:\.py|/)?`", text))


@pytest.mark.parametrize("package", IN_ORDER, ids=place)
def test_the_docstring_of_a_package_names_all_its_modules(package: Path) -> None:
    missing = sorted(modules(package) - named(docstring(package)))
    assert not missing, (
        f"the reading order in {place(package)}/__init__.py does not name {', '.join(missing)}"
    )


@pytest.mark.parametrize("package", ALL, ids=place)
def test_a_reading_order_names_no_module_that_is_not_there(package: Path) -> None:
    # Before its reading order, a docstring may have other names in backquotes.
    order = docstring(package).rpartition("Reading order")[2]
    above = (package, *(folder for folder in package.parents if folder.is_relative_to(ROOT)))
    here = {path.stem for folder in above for path in folder.iterdir()}
    unknown = sorted(named(order) - here)
    assert not unknown, (
        f"{place(package)}/__init__.py names {', '.join(unknown)}: no module of that name is there "
        "or in a package above"
    )


def test_there_are_packages_to_look_at() -> None:
    assert {"daemon", "engine", "schedule", "client"} <= {package.name for package in IN_ORDER}
