"""Indexing: what was done before an interrupt is not done again."""

from pathlib import Path

import pytest

import joader
from joader.catalog import indexing

pytest.importorskip("pyarrow", reason="row tables are Arrow files")


def test_interrupted_indexing_goes_on_where_it_was(
    catalog: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "CHUNK_ROWS", 5)
    done: list[int] = []
    real = indexing._chunk

    def chunk(storage, rows, columns, measured):  # type: ignore[no-untyped-def]
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(int(rows[0]))
        return real(storage, rows, columns, measured)

    monkeypatch.setattr(indexing, "_chunk", chunk)
    with pytest.raises(KeyboardInterrupt):
        joader.create("pets", pictures)
    assert done == [0, 5]
    done.clear()
    table = joader.create("pets", pictures)
    assert done == [10]
    assert len(table) == 12
    assert table[11] == (b"eel 3..", 2)
    assert len(list((catalog / "tables" / "pets").iterdir())) == 1
