"""Refreshing looks again only at what is new or changed, and never gives a number twice."""

import os
from pathlib import Path

import pytest

import joader
from joader.errors import ReadFailed, TableExists
from tests.catalog.conftest import write_pictures

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


def test_nothing_new_makes_no_version(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    assert table.refresh().version == 1
    assert joader.create("pets", pictures, exist_ok=True).version == 1


def test_new_changed_and_missing_files(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    (pictures / "bee").mkdir()
    (pictures / "bee" / "0.jpg").write_bytes(b"bee")
    (pictures / "cat" / "1.jpg").write_bytes(b"another cat")
    (pictures / "dog" / "3.jpg").unlink()
    table.refresh()
    assert table.rows().tolist() == [0, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]
    assert table.classes == ["cat", "dog", "eel", "bee"]  # labels mean what they meant
    assert table[10] == (b"bee", 3)
    assert table[11] == (b"another cat", 0)
    assert table.versions()[-1].what == "refreshed: 2 added, 2 gone"


def test_what_comes_back_unchanged_has_its_number_again(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures)
    os.rename(pictures / "dog", pictures.parent / "away")
    assert table.refresh().rows().tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    os.rename(pictures.parent / "away", pictures / "dog")
    assert table.refresh().rows().tolist() == list(range(12))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_dangling_link_is_a_row_that_fails_until_it_is_refreshed(
    catalog: Path, pictures: Path, one_by_one: bool
) -> None:
    (pictures / "dog" / "1.jpg").unlink()
    (pictures / "dog" / "1.jpg").symlink_to(pictures.parent / "gone.jpg")
    place = [str(path) for path in sorted(pictures.rglob("*.jpg"))] if one_by_one else pictures
    table = joader.create("pets", place, sizes=True)
    assert len(table) == 12
    assert table.rows(where="size = 0").tolist() == [5]
    with pytest.raises(ReadFailed, match=r"dog/1\.jpg cannot be read: No such file"):
        table[5]
    assert len(table.refresh()) == 11
    assert table.size_bytes() > 0


def test_what_was_deleted_stays_deleted(catalog: Path, pictures: Path) -> None:
    table = joader.create("pets", pictures).delete(where="label = 0")
    assert table.refresh().version == 2
    os.rename(pictures / "cat", pictures.parent / "away")
    table.refresh()
    os.rename(pictures.parent / "away", pictures / "cat")
    assert table.refresh().rows().tolist() == list(range(4, 12))


def test_create_again_of_another_place_is_refused(
    catalog: Path, pictures: Path, tmp_path: Path
) -> None:
    joader.create("pets", pictures)
    other = write_pictures(tmp_path / "other", 1)
    with pytest.raises(TableExists, match="append to it, or drop it"):
        joader.create("pets", other, exist_ok=True)
    (pictures / "cat" / "9.jpg").write_bytes(b"cat 9")
    assert joader.create("pets", pictures, exist_ok=True).rows().tolist() == list(range(13))


def test_appended_places_are_refreshed_too(catalog: Path, pictures: Path, tmp_path: Path) -> None:
    more = write_pictures(tmp_path / "more", 1)
    table = joader.create("pets", pictures).append(more)
    (more / "eel" / "7.jpg").write_bytes(b"eel 7")
    assert table.refresh().rows().tolist() == list(range(16))
    assert table[15] == (b"eel 7", 2)
