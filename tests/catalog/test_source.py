"""Tables of every kind of place that can be opened again."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.errors import BadArgument, ReadFailed

pa = pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 10


def arrow_table(first: int) -> Any:
    numbers = range(first, first + ROWS)
    return pa.table(
        {
            "image": [b"image %d" % n for n in numbers],
            "label": [n % 3 for n in numbers],
            "caption": ["word " * 200] * ROWS,
            "split": ["train" if n % 2 else "test" for n in numbers],
        }
    )


def write_parquet(path: Path, first: int) -> None:
    pq.write_table(arrow_table(first), path)


def write_arrow(path: Path, first: int) -> None:
    with pa.ipc.new_file(str(path), arrow_table(first).schema) as writer:
        writer.write_table(arrow_table(first))


def write_tar(path: Path, first: int) -> None:
    with tarfile.open(path, "w") as tar:
        for n in range(first, first + ROWS):
            for name, data in ((f"{n:03}.cls", b"%d" % (n % 3)), (f"{n:03}.jpg", b"image %d" % n)):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


KINDS = {
    "parquet": (write_parquet, "image", "label"),
    "arrow": (write_arrow, "image", "label"),
    "tar": (write_tar, "jpg", "cls"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_units_are_taken_in_and_refreshed_one_by_one(
    catalog: Path, tmp_path: Path, kind: str
) -> None:
    write, image, label = KINDS[kind]
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(3):
        write(folder / f"{number}.{kind}", number * ROWS)
    table = joader.create("data", folder)
    assert len(table) == 3 * ROWS
    view = table.view(where=f"{label} = 1", columns=[image, label])
    assert view[9] == (b"image 28", 1)
    assert table.refresh().version == 1

    (folder / f"0.{kind}").unlink()
    write(folder / f"3.{kind}", 3 * ROWS)
    write(folder / f"1.{kind}", 500)
    table.refresh()
    assert table.version == 2
    assert table.rows().tolist() == [*range(20, 30), *range(30, 50)]
    images = [sample[0] for sample in table.view(columns=[image])]
    expected = [*range(20, 30), *range(500, 510), *range(30, 40)]
    assert images == [b"image %d" % n for n in expected]
    with pytest.raises(ReadFailed, match=r"0\.\w+ was changed or removed"):
        joader.open("data", version=1).view(columns=[image])[0]


def test_long_texts_and_bytes_stay_with_the_data(catalog: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", 0)
    table = joader.create("data", tmp_path / "a.parquet")
    assert table.snapshot.version.stored == {"image": "bytes", "caption": "str"}
    assert table.snapshot.version.columns == {"label": "int64", "split": "str"}
    assert table.view(where="split = 'test'", columns=["split", "caption"])[0][1] == "word " * 200
    other = joader.create("other", tmp_path / "a.parquet", index=["split"])
    assert other.snapshot.version.columns == {"split": "str"}
    assert other[1][1] == 1
    with pytest.raises(BadArgument, match="holds bytes"):
        joader.create("third", tmp_path / "a.parquet", index=["image"])


def test_numpy_files_have_numbers_in_the_row_table_and_arrays_with_the_data(
    catalog: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "image.npy", np.arange(60).reshape(10, 3, 2))
    np.save(tmp_path / "label.npy", np.arange(10) % 4)
    table = joader.create("arrays", tmp_path)
    assert table.snapshot.version.columns == {"label": "int64"}
    view = table.view(where="label = 3", columns=["image", "label"])
    image, label = view[1]
    assert label == 3
    assert image.tolist() == [[42, 43], [44, 45], [46, 47]]
    np.save(tmp_path / "image.npy", np.arange(72).reshape(12, 3, 2))
    np.save(tmp_path / "label.npy", np.arange(12) % 4)
    assert table.refresh().rows().tolist() == list(range(10, 22))


def test_lmdb_is_a_source(catalog: Path, tmp_path: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "db")) as environment, environment.begin(write=True) as writer:
        for n in range(5):
            writer.put(b"%d" % n, b"value %d" % n)
    table = joader.create("db", tmp_path / "db")
    assert [sample for (sample,) in table.view(columns=["value"])] == [
        b"value %d" % n for n in range(5)
    ]


def test_files_named_one_by_one_are_looked_at_again_by_name(catalog: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.jpg" for n in range(4)]
    for path in paths:
        path.write_bytes(path.name.encode())
    table = joader.create("files", [str(path) for path in paths], labels=[3, 2, 1, 0])
    paths[0].unlink()
    paths[1].write_bytes(b"new content")
    table.refresh()
    assert table.rows().tolist() == [2, 3, 4]
    assert table[2] == (b"new content", 2)
    assert table.refresh().version == 2
