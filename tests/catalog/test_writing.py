"""Several writers at once: each alters what the one before left, and none is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import joader
from joader.catalog.records import Records
from tests.warm import process as warm

pytest.importorskip("pyarrow", reason="row tables are Arrow files")

DELETE = """
import sys, joader
table = joader.open("pets")
print("ready", flush=True)
sys.stdin.readline()
for row in sys.argv[1:]:
    table.delete(where=[int(row)])
"""
CREATE = """
import sys, joader
from joader.errors import TableExists
print("ready", flush=True)
sys.stdin.readline()
try:
    joader.create("pets", sys.argv[1])
    print("made")
except TableExists:
    print("there")
"""


def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
    return warm.Process(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def together(*processes: "subprocess.Popen[str]") -> list[str]:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


def test_two_writers_alter_one_after_the_other(catalog: Path, pictures: Path) -> None:
    joader.create("pets", pictures)
    together(start(DELETE, "0", "2", "4", "6"), start(DELETE, "1", "3", "5", "7"))
    table = joader.open("pets")
    assert table.version == 9
    assert table.rows().tolist() == [8, 9, 10, 11]
    files = set(os.listdir(catalog / "tables" / "pets"))
    assert files == Records(catalog).files("pets")


def test_of_two_that_create_one_table_one_makes_it(catalog: Path, pictures: Path) -> None:
    scripts = [start(CREATE, str(pictures)) for _ in range(2)]
    assert sorted(together(*scripts)) == ["made\n", "there\n"]
    assert len(joader.open("pets")) == 12
    assert len(os.listdir(catalog / "tables" / "pets")) == 1


def test_a_reader_keeps_its_version_while_others_write(catalog: Path, pictures: Path) -> None:
    reader = joader.create("pets", pictures)
    together(start(DELETE, "0", "1"))
    assert len(reader) == 12
    assert reader[0] == (b"cat 0", 0)
    reader.delete(where=[2])  # alters the newest
    assert reader.rows().tolist() == list(range(3, 12))
