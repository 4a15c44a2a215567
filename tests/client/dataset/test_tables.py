"""Tables under loaders: seen through to row numbers, joined with the columns of the row table."""

import sys
from pathlib import Path

import numpy as np
import pytest

import joader
from joader.catalog import StoredRows, Table, TableRows
from joader.client.dataset.joined_table import Joined
from joader.client.dataset.tables import split
from joader.client.dataset.unwrap import unwrap
from joader.errors import BadArgument
from joader.recipe.fingerprint import fingerprint
from tests.client import torch_stand_in

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setenv("JOADER_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.setitem(sys.modules, "torch.utils.data.dataset", torch_stand_in)
    folder = tmp_path / "data"
    folder.mkdir()
    np.save(folder / "image.npy", np.arange(24).reshape(12, 2))
    np.save(folder / "mask.npy", -np.arange(24).reshape(12, 2))
    np.save(folder / "label.npy", np.arange(12))
    return joader.create("numbers", folder).add_column("name", [f"row {n}" for n in range(12)])


def test_views_and_subsets_are_rows_of_one_table(table: Table) -> None:
    view = table.view(where="label >= 4", columns=["image", "label"])
    subset = torch_stand_in.Subset(torch_stand_in.Subset(view, [7, 0, 3]), [2, 0])
    found = unwrap(subset)
    assert isinstance(found.base, TableRows)
    assert found.rows.tolist() == [7, 11]
    whole = unwrap(table)
    assert whole.rows.tolist() == list(range(12))
    parts = torch_stand_in.ConcatDataset([table, torch_stand_in.Subset(table, [3])])
    assert unwrap(parts).rows.tolist() == [*range(12), 3]


def base_of(table: Table, columns: list[str]) -> str:
    return fingerprint(split(unwrap(table.view(columns=columns)), plain=True)[0].base)


def test_what_jobs_share_depends_on_stored_columns_alone(table: Table) -> None:
    name = base_of(table, ["image", "label"])
    assert base_of(table, ["label", "image"]) == name
    assert base_of(table, ["name", "image"]) == name
    assert base_of(table.delete(where=[3]), ["image"]) == name
    assert base_of(table, ["mask"]) != name
    assert base_of(table, ["image", "mask"]) == base_of(table, ["mask", "image"])
    table_again = joader.create("again", table.snapshot.folder.parent / "data")
    assert base_of(table_again, ["image"]) != name


def test_columns_join_in_the_order_asked_for(table: Table) -> None:
    joined = Joined(TableRows(table.snapshot, ["name", "mask", "label", "image"]))
    assert isinstance(joined.base, StoredRows)
    assert joined.base.sample_columns == ("image", "mask")
    rows = np.array([5, 2])
    images, masks = np.array([[10, 11], [4, 5]]), np.array([[-10, -11], [-4, -5]])
    names, mask, labels, image = joined.batch([images, masks], rows, True)
    assert names == ("row 5", "row 2")
    assert labels.tolist() == [5, 2]
    assert mask is masks
    assert image is images
    samples = joined.samples([joined.base[5], joined.base[2]], rows)
    assert [(name, label) for name, _, label, _ in samples] == [("row 5", 5), ("row 2", 2)]
    assert samples[0][3].tolist() == [10, 11]
    assert samples[0][1].tolist() == [-10, -11]


def test_a_state_of_no_table_or_another_is_refused(table: Table) -> None:
    joined = Joined(TableRows(table.snapshot, ["image"]))
    joined.check(joined.state())
    with pytest.raises(BadArgument, match="not of a table"):
        joined.check(None)
    with pytest.raises(BadArgument, match="another table"):
        joined.check({**joined.state(), "uid": "x"})
    with pytest.raises(BadArgument, match=r"column 'name' added\).*version=1"):
        joined.check({**joined.state(), "version": 1})


def test_a_loader_made_again_from_its_attributes_reads_the_same(table: Table) -> None:
    masked = np.arange(12) % 3 == 0
    for where, version in (("label >= 4", None), ("label >= 4", 2), (masked, None), (None, None)):
        first = joader.DataLoader(
            "numbers", where=where, columns=["label", "image"], version=version
        )
        again = joader.DataLoader(
            first.dataset, where=first.where, columns=first.columns, version=first.version
        )
        assert again.dataset.rows.tolist() == first.dataset.rows.tolist()
        assert again.dataset.columns == ("label", "image")
        assert again.dataset.pinned == (version is not None)
    narrower = joader.DataLoader(table.view(where="label >= 4"), where="label < 6")
    assert narrower.dataset.rows.tolist() == [4, 5]
    with pytest.raises(BadArgument, match="version= is for tables"):
        joader.DataLoader(table.view(), version=1)


@pytest.mark.parametrize(
    "path", ["/data/imagenet/train", "s3://bucket/train", "~/photos", Path("photos"), "data"]
)
def test_a_path_as_the_dataset_is_told_how_to_open_it(
    path: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    with pytest.raises(BadArgument) as raised:
        joader.DataLoader(path)
    assert f"dataset is '{path}', a path" in str(raised.value)
    assert f"open the path with joader.storage.open_storage('{path}'), or" in str(raised.value)


def test_a_table_that_is_called_as_a_folder_here_is_meant(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers").mkdir()
    assert len(joader.DataLoader("numbers")) == 12
