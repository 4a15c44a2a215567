"""Tables of objects in a store, against a server with the S3 API on the loopback."""

import io
import pickle
import tarfile
from pathlib import Path

import pytest

import joader
from joader.errors import ReadFailed
from tests.storage.contract import in_a_fork
from tests.storage.test_remote_files import Bucket, bucket, server  # noqa: F401 - fixtures

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")


def in_another_environment(dataset: object, patch: pytest.MonkeyPatch) -> object:
    """Return what arrives in a worker of a daemon that has other variables."""
    body = pickle.dumps(dataset)
    for name in ("AWS_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.delenv(name)
    return pickle.loads(body)


def test_objects_are_rows(
    catalog: Path,
    bucket: Bucket,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(6):
        bucket.put(f"c{number % 2}/{number}.jpg", b"image %d" % number)
    table = joader.create("objects", bucket.url, kind="folder")
    assert table.rows(where="label = 1 and path like '%/3%'").tolist() == [4]
    assert table[4] == (b"image 3", 1)
    bucket.put("c0/0.jpg", b"image x")
    bucket.put("c1/9.jpg", b"image 9")
    table.refresh()
    assert table.rows().tolist() == [1, 2, 3, 4, 5, 6, 7]
    base = in_another_environment(table.view(columns=["image"]).base, monkeypatch)
    assert [base[row] for row in (1, 6, 7)] == [  # type: ignore[index]
        (b"image 2",),
        (b"image x",),
        (b"image 9",),
    ]


def test_an_object_that_was_changed_is_not_read_in_place_of_the_rows_own(
    catalog: Path,
    bucket: Bucket,  # noqa: F811
) -> None:
    for name in "ab":
        bucket.put(f"x/{name}.jpg", b"OLD-" + name.encode())
    table = joader.create("changing", bucket.url, kind="folder")
    bucket.put("x/a.jpg", b"NEW-a")
    first = joader.open("changing", version=1)
    with pytest.raises(ReadFailed, match=r"x/a\.jpg was changed .*table\.refresh"):
        first[0]
    assert first[1] == (b"OLD-b", 0)
    table.refresh()
    assert table.rows().tolist() == [1, 2]
    assert table[1] == (b"NEW-a", 0)


def test_a_forked_child_reads_and_chooses_rows_as_its_parent_does(
    catalog: Path,
    bucket: Bucket,  # noqa: F811
) -> None:
    for number in range(4):
        bucket.put(f"x/{number}.jpg", b"image %d" % number)
    table = joader.create("forked", bucket.url, kind="folder")
    samples = list(table)

    def look() -> None:
        assert table.rows(where="path > 'x/1.jpg'").tolist() == [2, 3]
        assert list(table) == samples
        assert list(joader.open("forked")) == samples

    look()
    in_a_fork(look)
    look()


def test_tars_in_a_store_are_rows(
    catalog: Path,
    bucket: Bucket,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for number in range(4):
            for name, data in ((f"{number}.cls", b"%d" % number), (f"{number}.jpg", b"jpg")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    bucket.put("a.tar", file.getvalue())
    table = joader.create("tars", f"{bucket.url}/a.tar")
    view = table.view(where="cls > 1", columns=["cls", "jpg"])
    assert [sample[0] for sample in view] == [2, 3]
    base = in_another_environment(view.base, monkeypatch)
    assert base[3] == (3, b"jpg")  # type: ignore[index]
