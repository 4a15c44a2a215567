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


def test_the_wheel_has_no_tests_and_nothing_of_the_papers() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/joader"]}
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.parent.name == "papers"]
    users = {
        path.relative_to(ROOT / "src" / "joader").as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^\s*(from|import) papers\b", path.read_text(), re.MULTILINE)
    }
    assert users == {"cli/papers.py"}


@pytest.mark.parametrize("command", [["reproduce", "--list"], ["profile", "--quick"]])
def test_the_door_says_what_to_do_if_the_papers_are_not_here(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("joader.cli.papers.find_spec", lambda name: None)
    assert main(command) == 2
    assert "clone joader's repository" in capsys.readouterr().err


def test_all_installs_nothing_that_no_module_imports() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "papers").rglob("*.py")]
    source = "\n".join(path.read_text() for path in sources)
    names = {IMPORTED_AS.get(name, name) for name in packages(extras, "all")}
    # Imported as such, or by name: needed("duckdb", ...), sys.modules.get("datasets").
    unused = {name for name in names if not re.search(rf'(import |from |["\']){name}\b', source)}
    assert unused == set()
    assert "torch" in names
