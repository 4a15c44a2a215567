"""Tables as datasets of jobs: what jobs with other predicates, columns and versions share."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.catalog import Table
from joader.errors import BadArgument
from tests.processes.conftest import Node
from tests.processes.test_ranks import launch

pytest.importorskip("pyarrow", reason="row tables are Arrow files")
pytest.importorskip("duckdb", reason="predicates are asked of DuckDB")

ROWS = 24


def write_rows(folder: Path, first: int, count: int) -> Path:
    """Write rows whose image holds their number, which is also their label."""
    folder.mkdir()
    numbers = np.arange(first, first + count)
    np.save(folder / "image.npy", np.repeat(numbers[:, None], 6, 1).astype(np.uint8))
    np.save(folder / "label.npy", numbers)
    return folder


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setenv("JOADER_CATALOG", str(tmp_path / "catalog"))
    return joader.create("numbers", write_rows(tmp_path / "data", 0, ROWS))


def labels(loader: Any) -> list[int]:
    """Read a pass of ["image", "label"] and return the labels, which have to fit the images."""
    found: list[int] = []
    for images, numbers in loader:
        assert (images == numbers[:, None]).all()
        found += numbers.tolist()
    return sorted(found)


def loader(dataset: Any = "numbers", **arguments: Any) -> Any:
    usual: dict[str, Any] = {"batch_size": 4, "shuffle": True, "columns": ["image", "label"]}
    return joader.DataLoader(dataset, **{**usual, **arguments})


JOB = """
loader = joader.DataLoader(
    "numbers", batch_size=4, shuffle=True, where=sys.argv[1], columns=sys.argv[2].split(",")
)
say("ready")
sys.stdin.readline()
numbers = [number for batch in loader for number in batch[loader.columns.index("label")].tolist()]
say("read")
sys.stdin.readline()
stats = loader.stats()
say(sorted(numbers))
say([stats.delivered, stats.prepared, stats.shared])
"""


def test_two_jobs_with_other_predicates_prepare_common_rows_once(
    node: Node, table: Table, tmp_path: Path
) -> None:
    node.up()
    catalog = str(tmp_path / "catalog")
    jobs = [
        node.job(JOB, "label < 16", "image,label", JOADER_CATALOG=catalog),
        node.job(JOB, "label >= 8", "label,image", JOADER_CATALOG=catalog),
    ]
    for word in ("ready", "read"):
        for job in jobs:
            assert job.line() == word
            if word == "ready":
                job.say("go")
    for job in jobs:
        job.say("end")
    (first, counts), (second, more) = [job.result() for job in jobs]
    assert first == list(range(16))
    assert second == list(range(8, 24))
    assert counts[0] + more[0] == 32
    assert counts[1] + more[1] == ROWS  # the eight rows in common once


def test_jobs_that_differ_in_columns_share_what_is_prepared(
    shared_node: Node, table: Table
) -> None:
    with loader() as first, loader(columns=["label", "image"]) as second:
        iterators = iter(first), iter(second)
        pairs = list(zip(*iterators, strict=True))
        assert all((two[0] == two[1][:, 0]).all() for _, two in pairs)
        assert first.stats().prepared + second.stats().prepared == ROWS
    with loader(columns=["label"]) as only:
        found = [number for (numbers,) in only for number in numbers.tolist()]
        assert sorted(found) == list(range(ROWS))
    with loader(columns=["image"]) as images:
        assert all(isinstance(batch, tuple) and len(batch) == 1 for batch in images)


def test_a_pass_keeps_its_version_and_the_next_takes_the_newest(
    shared_node: Node, table: Table, tmp_path: Path
) -> None:
    with loader() as reader, loader(version=1) as pinned:
        running = iter(reader)
        first = next(running)
        table.delete(where="label < 6")
        table.append(write_rows(tmp_path / "more", 100, 3))
        rest = labels(running)
        assert sorted([*first[1].tolist(), *rest]) == list(range(ROWS))
        assert labels(reader) == [*range(6, ROWS), 100, 101, 102]
        # Only what is new was prepared: the versions share the rest.
        assert reader.stats().prepared == ROWS + 3
        assert len(reader) == 6
        assert len(reader.dataset) == 21
        assert labels(pinned) == list(range(ROWS))
        table.add_column("weight", np.arange(21) / 4)
        assert labels(reader) == [*range(6, ROWS), 100, 101, 102]
        assert reader.stats().prepared == ROWS + 3


def test_a_column_that_was_written_anew_is_in_the_next_pass(
    shared_node: Node, table: Table
) -> None:
    table = table.add_column("weight", np.zeros(ROWS))
    with loader(columns=["image", "weight"]) as reader:
        assert {w for _, weights in reader for w in weights.tolist()} == {0.0}
        table.add_column("weight", np.ones(ROWS), replace=True)
        assert {w for _, weights in reader for w in weights.tolist()} == {1.0}
        assert reader.state_dict()["table"]["version"] == 3


def test_a_pass_of_an_old_version_beside_one_of_a_new_one(
    shared_node: Node, table: Table, tmp_path: Path
) -> None:
    with loader() as reader:
        old = iter(reader)
        before = next(old)[1].tolist()
        table.delete(where="label >= 12")
        new = iter(reader)
        assert labels(new) == list(range(12))
        assert sorted(before + labels(old)) == list(range(ROWS))
        assert labels(reader) == list(range(12))


def test_a_predicate_is_asked_of_each_version_and_a_list_of_rows_is_not(
    shared_node: Node, table: Table, tmp_path: Path
) -> None:
    with loader(where="label > 20") as by_sql, loader(where=[21, 22, 23]) as by_number:
        assert labels(by_sql) == labels(by_number) == [21, 22, 23]
        table.append(write_rows(tmp_path / "more", 100, 2)).delete(where=[22])
        assert labels(by_sql) == [21, 23, 100, 101]
        assert labels(by_number) == [21, 23]


def test_a_state_of_another_version_is_refused_with_what_has_changed(
    shared_node: Node, table: Table
) -> None:
    with loader(order="seeded", seed=3) as reader:
        running = iter(reader)
        yielded = [*next(running)[1].tolist(), *next(running)[1].tolist()]
        state = reader.state_dict()
    assert state["table"]["version"] == 1
    table.delete(where=[0])
    with pytest.raises(BadArgument, match=r"1 row deleted.*version=1"):
        loader(order="seeded", seed=3).load_state_dict(state)
    with loader(order="seeded", seed=3, version=1) as again:
        again.load_state_dict(state)
        assert sorted([*yielded, *labels(again)]) == list(range(ROWS))
    joader.drop("numbers")
    joader.create("numbers", table.snapshot.folder.parent / "data")
    with pytest.raises(BadArgument, match="dropped and created again"):
        loader(order="seeded", seed=3).load_state_dict(state)


def test_labels_go_with_the_rows_that_replace_others(
    shared_node: Node, table: Table, tmp_path: Path
) -> None:
    def fragile(image: Any) -> Any:
        if image[0] % 5 == 2:
            raise ValueError("a bad row")
        return image

    for on_error, count in (("replace", ROWS), ("skip", ROWS - 5)):
        with loader(prepare=[fragile], on_error=on_error) as reader:
            found = labels(reader)  # checks each image against its label
            assert len(found) == count
            assert not any(number % 5 == 2 for number in found)


def test_samples_for_a_collate_function_and_one_by_one(shared_node: Node, table: Table) -> None:
    with loader(collate_fn=list, columns=["label", "image"]) as listed:
        samples = [sample for batch in listed for sample in batch]
        assert sorted(int(label) for label, _ in samples) == list(range(ROWS))
        assert all((image == label).all() for label, image in samples)
    with loader(batch_size=None) as singly:
        assert sorted(int(label) for image, label in singly) == list(range(ROWS))


def test_a_pass_goes_on_with_its_own_rows_when_the_daemon_is_gone(
    node: Node, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(node.run))
    node.up()
    with loader(fallback=False) as reader:
        old = iter(reader)
        found = next(old)[1].tolist()
        table.delete(where="label < 20")
        assert labels(reader) == [20, 21, 22, 23]
        assert node.daemon is not None
        os.kill(node.daemon.pid, signal.SIGKILL)
        node.daemon.wait()
        node.up()
        assert sorted(found + labels(old)) == list(range(ROWS))


RANK = """
loader = joader.DataLoader(
    "numbers", batch_size=3, shuffle=True, columns=["image", "label"], where="label < 20", job="t"
)
for _ in range(2):
    rows, states = [], []
    for images, labels in loader:
        assert (images == labels[:, None]).all()
        rows += labels.tolist()
        states.append(loader.state_dict())
    say([rows, states])
loader.close()
"""


def test_ranks_read_parts_of_one_plan_with_the_right_labels(
    node: Node, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_CATALOG", str(table.snapshot.folder))
    node.up()
    first, second = launch(node, RANK, 2)
    for (rows, states), (others, other_states) in zip(first.result(), second.result(), strict=True):
        assert sorted(rows + others) == list(range(20))
        assert states == other_states


TORCH = """
import torch
from torch.utils.data import random_split

table = joader.open("numbers")
loader = joader.DataLoader(table, batch_size=4, columns=["label", "image"], shuffle=True)
for batch in loader:
    labels, images = batch
    assert type(batch) is tuple and labels.dtype == torch.int64 and images.dtype == torch.uint8
    assert (images == labels[:, None]).all()
halves = random_split(table, [12, 12], generator=torch.Generator().manual_seed(0))
loaders = [joader.DataLoader(half, batch_size=4, shuffle=True) for half in halves]
say(sorted(label for one in loaders for _, labels in one for label in labels.tolist()))
say([one.stats().prepared for one in loaders])
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_batches_are_tensors_and_splits_share_with_the_whole(node: Node, table: Table) -> None:
    node.up()
    job = node.job(TORCH, JOADER_CATALOG=str(table.snapshot.folder))
    labels, prepared = job.result()
    assert labels == list(range(ROWS))
    assert prepared == [0, 0]  # the whole table's loader is still there, and so are its samples


def test_where_is_for_tables() -> None:
    with pytest.raises(BadArgument, match=r"where= is for tables.*a list"):
        joader.DataLoader([1, 2, 3], where="label < 3")


def test_a_file_that_was_changed_is_never_taken_for_what_it_was(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_CATALOG", str(tmp_path / "catalog"))
    (tmp_path / "files" / "a").mkdir(parents=True)
    for number in range(4):
        (tmp_path / "files" / "a" / f"{number}.png").write_bytes(b"old %d" % number)
    table = joader.create("files", str(tmp_path / "files"))
    (tmp_path / "files" / "a" / "1.png").write_bytes(b"new 1")
    os.utime(tmp_path / "files" / "a" / "1.png", ns=(0, 1))
    node.up()
    script = """
import joader.errors
def read(**options):
    loader = joader.DataLoader("files", batch_size=4, columns=["image"], as_numpy=True, **options)
    try:
        return sorted(image.decode() for (images,) in loader for image in images)
    except joader.errors.ReadFailed as error:
        return str(error)
say(read())
joader.open("files").refresh()
say(read())
say(read(version=1))
"""
    before, after, pinned = node.job(script, JOADER_CATALOG=str(tmp_path / "catalog")).result()
    assert "was changed after it was listed; list the files again" in before
    assert after == ["new 1", "old 0", "old 2", "old 3"]
    assert "was changed after it was listed" in pinned
    assert len(table) == 4
