"""Killed in the middle of any operation, a catalog has the old version or the new one.

And the next writer finds nothing in its way, and leaves nothing of the killed one behind.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import joader
from joader.catalog.records import Records
from joader.errors import UnknownTable
from tests.catalog.conftest import write_pictures

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")

OPERATIONS = ("create", "append", "delete", "add_column", "refresh", "drop")
WHOLE = 0  # a point at which nobody is killed


def template(home: Path, operation: str, use: Any) -> None:
    """Make what the operation starts from."""
    folder = home / "template"
    pictures = write_pictures(folder / "pictures")
    write_pictures(folder / "more", 1, ("dog", "fox"))
    use(folder)
    if operation == "create":
        return
    table = joader.create("pets", pictures).delete(where=[0])
    table.add_column("age", list(range(len(table))))
    if operation == "refresh":
        (pictures / "cat" / "7.jpg").write_bytes(b"a new cat")
        (pictures / "dog" / "0.jpg").write_bytes(b"a changed dog")
        (pictures / "eel" / "0.jpg").unlink()


def content() -> Any:
    """Return all that can be read of the table; None where there is none."""
    try:
        table = joader.open("pets")
    except UnknownTable:
        return None
    columns = [name for name in table.columns if name != "image"]
    values = {name: list(table.values(name)) for name in columns}
    # Data through its path: the template's folder was copied, and its places are the template's.
    whats = [version.what for version in table.versions()]
    return whats, table.rows().tolist(), table.classes, values


def run(operation: str, home: Path, points: Iterable[float]) -> list[int]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.catalog.victim", operation]
    done = subprocess.run(
        [*command, str(home), json.dumps(list(points))],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts: list[int] = json.loads(done.stdout)
    return counts


def check(operation: str, home: Path, points: Iterable[float], use: Any) -> set[str]:
    """See that each killed child left the old or the new version; return which were seen."""
    use(home / "template")
    old = content()
    use(home / str(WHOLE))
    new = content()
    assert old != new
    seen = set()
    for point in points:
        use(home / str(point))
        found = content()
        assert found in (old, new), f"killed at {point}"
        seen.add("old" if found == old else "new")
        # Whoever comes next finds no lock held and tidies up.
        joader.create("next", home / str(point) / "more")
        table = joader.create("pets", home / str(point) / "pictures") if found is None else None
        table = table or joader.open("pets").delete(where=[3])
        assert len(table) > 5
        folder = home / str(point) / "catalog"
        files = set(os.listdir(folder / "tables" / "pets"))
        assert files == Records(folder).files("pets")
        assert sorted(os.listdir(folder / "tables")) == ["next", "pets"]
        shutil.rmtree(home / str(point))
    return seen


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda folder: monkeypatch.setenv("JOADER_CATALOG", str(folder / "catalog"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_some_lines(operation: str, tmp_path: Path, use: Any) -> None:
    template(tmp_path, operation, use)
    points = [0.42, 0.97, 0.999]
    lines, *killed = run(operation, tmp_path, [WHOLE, *points])
    assert lines > 50
    assert killed == [0] * len(points)
    assert check(operation, tmp_path, points, use) == {"old", "new"}


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_every_line(operation: str, tmp_path: Path, use: Any) -> None:
    template(tmp_path, operation, use)
    (lines,) = run(operation, tmp_path, [WHOLE])
    for first in range(1, lines, 100):
        points = range(first, min(first + 100, lines + 1))
        run(operation, tmp_path, points)
        check(operation, tmp_path, points, use)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_time(operation: str, tmp_path: Path, use: Any) -> None:
    template(tmp_path, operation, use)
    run(operation, tmp_path, [WHOLE])
    moments = random.Random(1).sample(range(500, 60_000), 40)
    points = [-moment for moment in moments]
    run(operation, tmp_path, points)
    check(operation, tmp_path, points, use)
