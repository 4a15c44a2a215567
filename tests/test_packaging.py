"""What `pip install 'joader[all]'` brings is used."""

import re
import tomllib
from pathlib import Path

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


def test_all_installs_nothing_that_no_module_imports() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    names = {IMPORTED_AS.get(name, name) for name in packages(extras, "all")}
    # Imported as such, or by name: needed("duckdb", ...), sys.modules.get("datasets").
    unused = {name for name in names if not re.search(rf'(import |from |["\']){name}\b', source)}
    assert unused == set()
    assert "torch" in names
