"""The database of a catalog: named if it cannot be used."""

from pathlib import Path

import pytest

import joader
from joader.errors import WriteFailed

pytest.importorskip("pyarrow", reason="row tables are Arrow files")


def test_a_catalog_that_is_damaged_or_newer_is_named(catalog: Path, pictures: Path) -> None:
    joader.create("pets", pictures)
    import sqlite3

    database = sqlite3.connect(catalog / "catalog.sqlite")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(WriteFailed, match="newer joader"):
        joader.open("pets").delete(where=[0])
    (catalog / "catalog.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(WriteFailed, match=r"catalog\.sqlite cannot be used"):
        joader.open("pets")
