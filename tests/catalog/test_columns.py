"""Which columns a table takes, and which of them rows can be chosen by."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.errors import BadArgument, BadRows, UnknownColumn

pa = pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")

BEGIN = datetime.datetime(2024, 1, 1)
TIMES = [BEGIN + datetime.timedelta(hours=hour) for hour in range(6)]
DATES = [datetime.date(2024, 1, 1 + day) for day in range(6)]


def parquet(folder: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "data.parquet")
    return folder / "data.parquet"


def test_columns_that_differ_only_in_case_are_refused(catalog: Path, tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="'x' and 'X' differ only in case"):
        joader.create("cases", parquet(tmp_path, x=[1, 2, 3], X=[10, 20, 30]))
    table = joader.create("cases", parquet(tmp_path, label=[1, 2, 3]))
    with pytest.raises(BadArgument, match="'label' and 'Label' differ only in case"):
        table.add_column("Label", [1, 2, 3])
    with pytest.raises(BadArgument, match="differ only in case"):
        table.append(parquet(tmp_path, label=[1], LABEL=[2]))
    assert table.rows(where="LABEL = 2").tolist() == [1]  # SQL's own way


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_rows_are_chosen_by_times(catalog: Path, tmp_path: Path, unit: str) -> None:
    place = parquet(tmp_path, ts=pa.array(TIMES, pa.timestamp(unit)), row=list(range(6)))
    table = joader.create("times", place)
    assert table.rows(where="ts < '2024-01-01 03:00:00'").tolist() == [0, 1, 2]
    assert table.rows(where="hour(ts) = 4 or ts is null").tolist() == [4]
    assert table.values("ts", where="row = 1") == [TIMES[1]]
    assert table.view(columns=["row", "ts"])[2] == (2, TIMES[2])
    assert table.snapshot.values(np.array([3, 1]), "ts") == [TIMES[3], TIMES[1]]  # of a batch


def test_rows_are_chosen_by_dates_also_by_those_added_later(catalog: Path, tmp_path: Path) -> None:
    table = joader.create("dates", parquet(tmp_path, day=[None, *DATES[1:]], row=list(range(6))))
    assert table.rows(where="day >= '2024-01-05'").tolist() == [4, 5]
    assert table.rows(where="day is null").tolist() == [0]
    table.add_column("seen", TIMES).add_column("due", DATES)
    assert table.rows(where="seen > due and day > '2024-01-02'").tolist() == []
    assert table.rows(where="seen <= due").tolist() == list(range(6))


def test_a_column_that_is_not_in_the_row_table_is_said_to_be_stored(
    catalog: Path, tmp_path: Path
) -> None:
    zoned = pa.array(TIMES, pa.timestamp("us", tz="Europe/Berlin"))
    table = joader.create("zoned", parquet(tmp_path, ts=zoned, many=[[1]] * 6, row=list(range(6))))
    for where in ("ts > '2024-01-01'", "many = [1]"):
        with pytest.raises(UnknownColumn, match="is stored with the data and is not in the row"):
            table.rows(where=where)
    with pytest.raises(UnknownColumn, match="there is no column 'nothing'"):
        table.rows(where="nothing = 1")


@pytest.mark.parametrize("where", [{1, 2}, 1, {"row": 1}, np.array([[1]])])
def test_rows_are_named_in_a_list_or_an_array(catalog: Path, tmp_path: Path, where: Any) -> None:
    table = joader.create("rows", parquet(tmp_path, row=list(range(6))))
    with pytest.raises(BadRows, match=f"a {type(where).__name__}; give SQL, a mask"):
        table.rows(where=where)
