"""Columns in files that are whole, or not there."""

from pathlib import Path

import pytest

from joader.catalog import blocks
from joader.catalog.blocks import ENDING, read_block, write_block
from joader.errors import BadData, NoData, WriteFailed

pa = pytest.importorskip("pyarrow", reason="row tables are Arrow files")


def test_what_is_written_is_read_from_a_file_of_its_own(tmp_path: Path) -> None:
    columns = pa.table({"a": [1, 2, None], "b": ["x", "", "y"]})
    names = [write_block(tmp_path, columns) for _ in range(2)]
    assert len(set(names)) == 2
    assert all(name.endswith(ENDING) for name in names)
    for name in names:
        assert read_block(tmp_path / name).equals(columns)


def test_a_named_block_of_several_pieces_is_one_piece(tmp_path: Path) -> None:
    pieces = pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2]})])
    assert write_block(tmp_path, pieces, "named") == "named"
    found = read_block(tmp_path / "named")
    assert found["a"].num_chunks == 1
    assert found["a"].to_pylist() == [1, 2]


def test_a_damaged_file_and_one_that_is_gone_are_told_apart(tmp_path: Path) -> None:
    name = write_block(tmp_path, pa.table({"a": list(range(1000))}))
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BadData, match=r"is damaged.*create the table again"):
        read_block(path)
    path.unlink()
    with pytest.raises(NoData, match="its table was dropped"):
        read_block(path)


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(WriteFailed, match="JOADER_CATALOG"):
        write_block(tmp_path / "file", pa.table({"a": [1]}))
    with pytest.raises(WriteFailed):
        write_block(tmp_path / "none", pa.table({"a": [1]}))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_not_through_to_the_disk_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blocks, "sync_folder", full)
    with pytest.raises(WriteFailed, match="No space left"):
        write_block(tmp_path, pa.table({"a": [1]}))
    assert list(tmp_path.iterdir()) == []
