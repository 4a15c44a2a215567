"""Views: some rows and some columns of a table."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import joader
from joader.errors import (
    BadArgument,
    BadRows,
    UnknownColumn,
    UnknownRow,
)

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


def test_rows_are_chosen_by_mask_and_by_number(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures).delete(where=[0])
    mask = np.zeros(11, bool)
    mask[[0, 10]] = True
    assert table.rows(where=mask).tolist() == [1, 11]
    assert table.rows(where=[7, 3]).tolist() == [3, 7]
    with pytest.raises(BadRows, match="mask of 12 rows"):
        table.rows(where=np.ones(12, bool))
    with pytest.raises(UnknownRow, match="no row 0"):
        table.rows(where=[0, 1])
    with pytest.raises(BadRows, match="repeats"):
        table.rows(where=[3, 3])
    with pytest.raises(BadRows, match="float64"):
        table.rows(where=[0.5])


def test_a_view_reads_only_the_columns_asked_for(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    view = table.view(where="label = 2", columns=["label", "path", "image"])
    assert len(view) == 4
    assert view[0] == (2, "eel/0.jpg", b"eel 0..")
    assert table.view(columns=["image"])[0] == (b"cat 0",)
    os.unlink(pictures / "cat" / "0.jpg")  # what is not asked for is not read
    assert table.view(columns=["label"])[0] == (0,)
    assert view.__getitems__([3, 0]) == [
        (2, "eel/3.jpg", b"eel 3.."),
        (2, "eel/0.jpg", b"eel 0.."),
    ]
    for columns, error in ((["nope"], UnknownColumn), ("label", BadArgument), ([], BadArgument)):
        with pytest.raises(error):
            table.view(columns=columns)


def test_tables_and_views_are_pickled_by_name(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures).delete(where="label = 1")
    copy = pickle.loads(pickle.dumps(table))
    assert (copy.version, len(copy), copy[4]) == (2, 8, (b"eel 0..", 2))
    view = pickle.loads(pickle.dumps(table.view(where="label = 2", columns=["image"])))
    assert view[1] == (b"eel 1..",)
