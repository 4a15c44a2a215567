"""Tables: created, altered, opened in every version."""

from pathlib import Path

import numpy as np
import pytest

import joader
from joader.errors import (
    BadArgument,
    BadData,
    BadRows,
    TableExists,
    UnknownColumn,
    UnknownTable,
)
from tests.catalog.conftest import write_pictures

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


def test_a_table_has_the_rows_of_its_folder(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    assert len(table) == 12
    assert table.version == 1
    assert table.classes == ["cat", "dog", "eel"]
    assert table.columns == {"image": "bytes", "label": "int64", "path": "str", "size": "int64"}
    assert table[5] == (b"dog 1.", 1)
    assert table.values("path")[:2] == ["cat/0.jpg", "cat/1.jpg"]
    assert table.values("size").tolist() == [5] * 4 + [6] * 4 + [7] * 4


def test_a_table_is_found_by_its_name_in_the_catalog(catalog: Path, pictures: Path) -> None:
    joader.create("pets", pictures)
    assert joader.open("pets")[11] == (b"eel 3..", 2)
    with pytest.raises(UnknownTable, match=r"no table 'pest'.*there are pets"):
        joader.open("pest")
    with pytest.raises(TableExists, match="already"):
        joader.create("pets", pictures)
    with pytest.raises(BadArgument, match="not a name for a table"):
        joader.create("../pets", pictures)


def test_rows_keep_their_numbers_whatever_is_deleted_and_added(
    catalog: Path, pictures: Path, tmp_path: Path
) -> None:
    table = joader.create("pets", pictures)
    table.delete(where="label = 1")
    assert table.rows().tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    table.append(write_pictures(tmp_path / "more", 1, ("dog", "fox")))
    assert table.rows().tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]
    assert table.classes == ["cat", "dog", "eel", "fox"]
    assert table[8] == (b"dog 0", 1)
    assert table[9] == (b"fox 0.", 3)
    assert [version.rows for version in table.versions()] == [12, 8, 10]


def test_every_version_stays_as_it_was(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    before = joader.open("pets")
    table.delete(where=[0]).add_column("weight", np.arange(11) / 2)
    assert len(before) == 12
    assert "weight" not in before.columns
    first, second = joader.open("pets", version=1), joader.open("pets", version=2)
    assert (len(first), len(second), len(joader.open("pets"))) == (12, 11, 11)
    assert "weight" not in second.columns
    with pytest.raises(BadArgument, match=r"fixed at version 1 of 'pets'"):
        first.delete(where=[3])
    with pytest.raises(UnknownTable, match="1 to 3"):
        joader.open("pets", version=4)


def test_a_column_is_added_for_the_rows_that_are_there(
    catalog: Path, pictures: Path, tmp_path: Path
) -> None:
    table = joader.create("pets", pictures).delete(where=[2, 11])
    table.add_column("weight", np.arange(10) * 1.5)
    table.add_column("owner", ["ann", None] * 5)
    assert table.rows(where="weight > 10 and owner = 'ann'").tolist() == [9]
    table.append(write_pictures(tmp_path / "more", 1))
    assert table.rows(where="weight is null").tolist() == [12, 13, 14]
    view = table.view(columns=["label", "weight"])
    assert view[9] == (2, 13.5)
    with pytest.raises(BadData, match=r"row 12 has no value in the column 'weight'"):
        view[10]
    with pytest.raises(BadArgument, match="replace=True"):
        table.add_column("owner", ["bob"] * 13)
    table.add_column("owner", ["bob"] * 13, replace=True)
    assert set(table.values("owner")) == {"bob"}
    for name, values, error in (
        ("x", [1, 2], BadRows),
        ("x", [b"a"] * 13, BadData),
        ("image", [1] * 13, UnknownColumn),
    ):
        with pytest.raises(error):
            table.add_column(name, values)


def test_a_dropped_table_leaves_no_files(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures).delete(where=[1])
    joader.drop("pets")
    assert list((catalog / "tables").iterdir()) == []
    with pytest.raises(UnknownTable, match="no table 'pets'"):
        joader.open("pets")
    with pytest.raises(UnknownTable, match="dropped"):
        table.delete(where=[2])
    assert len(joader.create("pets", pictures)) == 12


def test_what_exists_in_this_process_only_is_refused(catalog: Path) -> None:
    for thing in (np.zeros((3, 2)), [object(), object()]):
        with pytest.raises(BadArgument):
            joader.create("arrays", thing)
    with pytest.raises(UnknownTable):
        joader.open("arrays")


def test_other_stored_columns_are_not_appended(
    catalog: Path, pictures: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "value.npy", np.zeros((3, 2)))
    table = joader.create("pets", pictures)
    with pytest.raises(BadArgument, match=r"lacks 'image'"):
        table.append(tmp_path / "value.npy")
    assert joader.open("pets").version == 1
