"""`joader datasets`, and who uses a table by a real daemon."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from joader.cli.main import main
from tests.catalog.conftest import write_pictures
from tests.warm import process as warm

pytest.importorskip("pyarrow", reason="row tables are Arrow files")


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]
READ = """
import sys, joader
loader = joader.DataLoader("pets", batch_size=4, columns=["image", "label"], job="reader")
running = iter(loader)
next(running)
print("reading", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def joader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Run the command here, and return its exit code and what it printed."""
    monkeypatch.setenv("JOADER_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        return Ran(code, *capsys.readouterr())

    yield run
    run("down", "--force")


def test_without_an_action_the_tables_are_listed(joader: Run, tmp_path: Path) -> None:
    write_pictures(tmp_path / "data")
    joader("datasets", "create", "pets", str(tmp_path / "data"))
    assert joader("datasets") == joader("datasets", "list")
    assert joader("datasets", "--json") == joader("datasets", "list", "--json")
    assert joader("datasets", "--json", "list") == joader("datasets", "list", "--json")
    assert "pets" in joader("datasets").stdout


def test_a_table_is_created_listed_shown_refreshed_and_dropped(joader: Run, tmp_path: Path) -> None:
    assert "no tables yet" in joader("datasets", "list").stdout
    pictures = write_pictures(tmp_path / "pictures")
    made = joader("datasets", "create", "pets", str(pictures))
    assert made.returncode == 0, made.stderr
    assert "version 1: 12 rows" in made.stdout
    again = joader("datasets", "create", "pets", str(pictures))
    assert again.returncode == 2
    assert again.stderr.startswith("joader: the table 'pets' already exists")
    (pictures / "cat" / "9.jpg").write_bytes(b"x" * 100)
    fresh = json.loads(joader("datasets", "refresh", "pets", "--json").stdout)
    assert (fresh["version"], fresh["rows"]) == (2, 13)
    shown = json.loads(joader("datasets", "show", "pets", "--json").stdout)
    assert shown["size_bytes"] == 4 * (5 + 6 + 7) + 100
    assert shown["stored"] == {"image": "bytes"}
    assert shown["columns"] == {"label": "int64", "path": "str", "size": "int64"}
    assert [one["what"] for one in shown["versions"]] == [
        "created of 12 rows",
        "refreshed: 1 added",
    ]
    assert shown["used_by"] == []
    text = joader("datasets", "show", "pets").stdout
    assert "pets, version 2: 13 rows, 172 bytes of data" in text
    assert "no job is reading it now" in text
    assert json.loads(joader("datasets", "list", "--json").stdout) == [
        {"name": "pets", "version": 2, "rows": 13}
    ]
    assert joader("datasets", "drop", "pets").returncode == 0
    gone = joader("datasets", "show", "pets")
    assert gone.returncode == 2
    assert "there is no table 'pets'" in gone.stderr


def test_who_uses_a_table_is_shown(joader: Run, tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures")
    joader("datasets", "create", "pets", str(tmp_path / "pictures"))
    job = warm.Process(
        [sys.executable, "-c", READ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "reading\n"
    shown = json.loads(joader("datasets", "show", "pets", "--json").stdout)
    assert shown["used_by"] == [{"name": "reader", "pid": job.pid, "version": 1}]
    assert "used by reader" in joader("datasets", "show", "pets").stdout
    job.communicate("end\n", timeout=30)
