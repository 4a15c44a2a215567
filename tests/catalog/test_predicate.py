"""Predicates: one true-or-false expression over the columns, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

import joader
from joader.catalog import Table
from joader.errors import BadPredicate, MissingExtra, UnknownColumn

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


@pytest.fixture
def table(catalog: Path, pictures: Path) -> Table:
    return joader.create("pets", pictures)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("label < 1", [0, 1, 2, 3]),
        ("label = 1 AND size >= 6", [4, 5, 6, 7]),
        ("LABEL in (0, 2) and path like '%/3.jpg'", [3, 11]),
        ("not (label between 0 and 1) and path ilike 'EEL/0%'", [8]),
        ("case when label = 0 then size = 5 else false end", [0, 1, 2, 3]),
        ("abs(label - 2) = 2 and starts_with(path, 'cat/2')", [2]),
        ('"label"::double > 1.5 -- a comment', [8, 9, 10, 11]),
        ("true", list(range(12))),
        ("label is null", []),
    ],
)
def test_rows_for_which_it_is_true(table: Table, where: str, rows: list[int]) -> None:
    assert table.rows(where).tolist() == rows


@pytest.mark.parametrize(
    "where",
    [
        "",
        "label",
        "label <",
        "label < 1 order by 1",
        "label < 1 limit 2",
        "1 = 1) or (1 = 1",
        "label = 1; drop table rows_of_table",
        "label in (select 1)",
        "exists (select * from read_csv('/etc/passwd'))",
        "read_text('/etc/passwd') = 'a'",
        "count(*) > 1",
        "row_number() over () > 1",
        "random() < 0.5",
        "now() > '2020-01-01'",
        "current_setting('threads') = '1'",
        "label = ?",
        "label = 'cat'",
        "* = 1",
        "(" * 5000 + "true" + ")" * 5000,
    ],
)
def test_anything_else_is_refused(table: Table, where: str) -> None:
    with pytest.raises(BadPredicate):
        table.rows(where)


@pytest.mark.parametrize("where", ["lable = 1", "__row__ = 1", "rows_of_table.label = 1"])
def test_an_unknown_column_is_refused_with_the_list_of_columns(table: Table, where: str) -> None:
    with pytest.raises(UnknownColumn, match=r"label \(int64\), path \(str\), size \(int64\)"):
        table.rows(where)


def test_refusals_name_the_columns(table: Table) -> None:
    with pytest.raises(BadPredicate, match=r"is of type BIGINT.*label \(int64\), path \(str\)"):
        table.rows("label + 1")


def test_without_duckdb_it_says_what_to_install(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from joader.catalog import predicate
    from joader.storage.per_process import PerProcess

    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(predicate, "_connection", PerProcess(predicate._connect))
    with pytest.raises(MissingExtra, match=r"pip install '\.\[sql\]'"):
        table.rows("label = 1")
    assert table.rows([1, 2]).tolist() == [1, 2]


def test_a_predicate_works_in_a_forked_child(table: Table) -> None:
    script = (
        "import os, joader\n"
        "table = joader.open('pets')\n"
        "table.rows('label = 1')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if table.rows('label = 2').tolist() == [8, 9, 10, 11] else 3)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
