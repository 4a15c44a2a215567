"""What the extra `all` brings is used."""

import re
import tomllib
from pathlib import Path

import pytest

from joader.cli.main import main

ROOT = Path(__file__).parent.parent
IMPORTED_AS = {
    "pillow": "PIL",
    "prometheus-client": "prometheus_client",
    "scikit-learn": "sklearn",
}


def packages(extras: dict[str, list[str]], extra: str) -> set[str]:
    """Return the packages of an extra, those of extras it names included."""
    found = set()
    for requirement in extras[extra]:
        inner = re.fullmatch(r"joader\[(.*)\]", requirement)
        if inner:
            found |= {name for one in inner[1].split(",") for name in packages(extras, one)}
        else:
            found.add(re.split(r"[><=\[ ]", requirement)[0])
    return found


def test_only_reproduce_needs_what_is_not_in_the_wheel() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    left_out = [ROOT / folder for folder in wheel["exclude"]]
    names = [".".join(folder.relative_to(ROOT / "src").parts) for folder in left_out]
    assert all(folder.is_dir() for folder in left_out)
    needing = {
        str(path.relative_to(ROOT / "src" / "joader"))
        for path in (ROOT / "src").rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in left_out)
        and any(f"from {name}" in path.read_text() for name in names)
    }
    assert needing == {"simulator/every_figure.py", "cli/reproduce.py"}
    users = {
        str(path.relative_to(ROOT / "src" / "joader"))
        for path in (ROOT / "src").rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in left_out)
        and re.search(r"from joader\.(simulator\.every_figure|cli\.reproduce) ", path.read_text())
    }
    assert users == {"cli/main.py", "cli/reproduce.py"}


def test_reproduce_says_what_to_do_if_the_figures_are_not_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("joader.cli.main.find_spec", lambda name: None)
    assert main(["reproduce", "--list"]) == 2
    assert "clone joader's repository" in capsys.readouterr().err


def test_all_installs_nothing_that_no_module_imports() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    names = {IMPORTED_AS.get(name, name) for name in packages(extras, "all")}
    # Imported as such, or by name: needed("duckdb", ...), sys.modules.get("datasets").
    unused = {name for name in names if not re.search(rf'(import |from |["\']){name}\b', source)}
    assert unused == set()
    assert "torch" in names
