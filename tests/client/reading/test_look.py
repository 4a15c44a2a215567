"""What is seen of a dataset before each pass: what has changed means another job."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from joader.client.dataset.ground import NO_GROUND
from joader.client.dataset.identity import NOT_COMPARABLE
from joader.client.reading.job import Job
from joader.client.reading.look import Looker, Sight
from joader.client.reading.settings import Settings
from joader.daemon.machine import cores
from joader.images import Steps
from joader.messages import JobSettings


class Rows:
    def __init__(self, length: int = 5, **more: Any) -> None:
        self.length, self.scale = length, 1
        self.table = np.arange(length)
        self.__dict__.update(more)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return int(self.table[row]) * self.scale


def settings(**more: Any) -> Settings:
    usual: dict[str, Any] = {
        "job": JobSettings("job"),
        "key": None,
        "prepare": Steps(()),
        "transform": Steps(()),
        "worker_init_fn": None,
        "deterministic": False,
        "private": False,
        "seed": 0,
        "drop_last": False,
        "rank": None,
        "whose": "loader",
        "num_workers": 2,
        "context": "fork",
    }
    return Settings(**usual | more)


def looks(dataset: Any, change: Any, order: str = "given", **more: Any) -> tuple[Sight, Sight]:
    """Look, let something change, and look again."""
    looker = Looker(settings(**more))
    before = looker.look(dataset, order, 2)
    change()
    return before, looker.look(dataset, order, 2)


def test_what_has_not_changed_is_the_same() -> None:
    before, after = looks(Rows(), lambda: None)
    assert before.is_same(after, "given")
    assert before.job.recipe == after.job.recipe
    assert not after.opaque


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: setattr(rows, "scale", 2),
        lambda rows: setattr(rows, "new", "attribute"),
        lambda rows: setattr(rows, "table", np.arange(5)[::-1].copy()),
        lambda rows: setattr(rows, "length", 4),
        lambda rows: rows.table.__setitem__(3, 77),
    ],
    ids=["value", "attribute", "array", "length", "in place"],
)
def test_whatever_has_changed_is_seen(change: Any) -> None:
    rows = Rows()
    before, after = looks(rows, lambda: change(rows))
    assert not before.is_same(after, "given")


def test_what_is_changed_back_is_the_same_again() -> None:
    rows = Rows()
    looker = Looker(settings())
    first = looker.look(rows, "given", 2)
    rows.scale = 2
    second = looker.look(rows, "given", 2)
    rows.scale = 1
    third = looker.look(rows, "given", 2)
    assert not first.is_same(second, "given")
    assert first.is_same(third, "given")


def test_another_order_is_another_job() -> None:
    before, after = looks(Rows(), lambda: None)
    assert not before.is_same(after, "told")


def test_a_subset_of_other_rows_is_another_job_of_the_same_recipe() -> None:
    data = pytest.importorskip("torch.utils.data")
    rows = Rows()
    subset = data.Subset(rows, [0, 1])
    before, after = looks(subset, lambda: setattr(subset, "indices", [0, 2]))
    assert not before.is_same(after, "given")
    assert before.job.recipe == after.job.recipe
    assert after.job.rows.tolist() == [0, 2]


def test_the_own_part_is_looked_at_too_and_is_no_part_of_the_recipe() -> None:
    amount = {"by": 1}

    def add(sample: int) -> int:
        return sample + amount["by"]

    rows = Rows()
    before, after = looks(rows, lambda: amount.update(by=2), transform=Steps([add]))
    assert not before.is_same(after, "given")
    assert before.job.recipe == after.job.recipe
    plain = Looker(settings()).look(rows, "given", 2)
    assert plain.job.recipe == before.job.recipe


def test_the_shared_steps_are_part_of_the_recipe() -> None:
    def double(sample: int) -> int:
        return sample * 2

    plain = Looker(settings()).look(Rows(), "given", 2)
    prepared = Looker(settings(prepare=Steps([double]))).look(Rows(), "given", 2)
    assert plain.job.recipe != prepared.job.recipe


def test_equal_datasets_of_two_loaders_have_one_recipe() -> None:
    one = Looker(settings(whose="one")).look(Rows(), "given", 2)
    other = Looker(settings(whose="other")).look(Rows(), "given", 2)
    assert one.job.recipe == other.job.recipe
    assert one.job.private == other.job.private == ""
    assert one.job.reads_for == other.job.reads_for == ""  # the process


def test_a_key_stands_for_the_dataset_whatever_it_is(connection: sqlite3.Connection) -> None:
    rows = Rows(connection=connection)
    before, after = looks(rows, lambda: setattr(rows, "scale", 2), key="mine")
    assert before.is_same(after, "given")
    assert before.job.recipe == "mine"
    assert not before.opaque
    assert before.job.place == ""


def test_a_key_does_not_stand_for_what_is_done_to_rows() -> None:
    def double(sample: int) -> int:
        return sample * 2

    plain = Looker(settings(key="mine")).look(Rows(), "given", 2)
    prepared = Looker(settings(key="mine", prepare=Steps([double]))).look(Rows(), "given", 2)
    assert prepared.job.recipe.startswith("mine ")
    assert plain.job.recipe != prepared.job.recipe


# What cannot be compared.


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """What has no state that could be compared."""
    made = sqlite3.connect(":memory:")
    yield made
    made.close()


def test_what_cannot_be_compared_is_the_jobs_own(connection: sqlite3.Connection) -> None:
    one, other = (
        Looker(settings(whose=whose)).look(Rows(connection=connection), "given", 2)
        for whose in ("one", "other")
    )
    for sight in (one, other):
        assert "sqlite3.Connection" in sight.opaque
        assert sight.identity.key == NOT_COMPARABLE
        assert sight.job.ground.pieces == NO_GROUND.pieces
    assert one.job.private != other.job.private
    assert "" not in (one.job.private, other.job.private)


def test_of_what_cannot_be_compared_no_two_looks_see_the_same(
    connection: sqlite3.Connection,
) -> None:
    before, after = looks(Rows(connection=connection), lambda: None)
    assert not before.is_same(after, "given")


def test_an_own_part_that_cannot_be_compared_gets_new_workers_and_the_recipe_is_shared(
    connection: sqlite3.Connection,
) -> None:
    def looked_up(sample: int) -> Any:
        return connection.execute("select ?", (sample,)).fetchone()

    sight = Looker(settings(transform=Steps([looked_up]))).look(Rows(), "given", 2)
    assert sight.unsure
    assert sight.job.private == ""
    assert sight.identity.key == sight.job.recipe


# Which workers it brings.


def test_without_workers_it_brings_none() -> None:
    assert Looker(settings(num_workers=0)).look(Rows(), "given", 2).job.lending is None


def test_it_brings_as_many_as_it_is_told_to_and_lends_them_if_it_may() -> None:
    for lend in (True, False):
        its = settings(num_workers=3, job=JobSettings("job", lend=lend))
        job = Looker(its).look(Rows(), "given", 2).job
        assert job.lending is not None
        assert (job.lending.workers, job.lending.shown) == (3, 3)
        assert job.settings.job.lend is lend


def test_a_job_tells_its_settings_as_they_are_and_how_long_it_waits_by_then() -> None:
    said = JobSettings("job", weight=3.0, lend=False, locality=True, timeout_s=120.0)
    job = Looker(settings(num_workers=0, job=said)).look(Rows(), "shared", 2).job
    assert job._spec(2, 9.0, None).settings == replace(said, timeout_s=9.0)


def test_if_nobody_says_how_many_it_is_its_share_of_the_cores() -> None:
    lending = Looker(settings(num_workers=None)).look(Rows(), "given", 2).job.lending
    assert lending is not None
    assert (lending.workers, lending.shown) == (0, cores())


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_if_nobody_says_so_no_script_is_loaded_anew(context: str) -> None:
    look = Looker(settings(num_workers=None, context=context)).look
    assert look(Rows(), "given", 2).job.lending is None
    look = Looker(settings(num_workers=1, context=context)).look
    assert look(Rows(), "given", 2).job.lending is not None


def test_if_nobody_says_so_nothing_opaque_is_read_in_another_process(
    connection: sqlite3.Connection,
) -> None:
    rows = Rows(connection=connection)
    sight = Looker(settings(num_workers=None)).look(rows, "given", 2)
    assert sight.opaque
    assert sight.job.lending is None
    assert Looker(settings(num_workers=2)).look(rows, "given", 2).job.lending is not None


# What becomes of random code.


def test_random_code_is_fresh_unless_it_is_said_that_there_is_none() -> None:
    assert Looker(settings()).look(Rows(), "shared", 2).job.fresh
    assert not Looker(settings(deterministic=True)).look(Rows(), "shared", 2).job.fresh


def test_private_random_numbers_make_the_recipe_the_jobs_own() -> None:
    job = Looker(settings(private=True)).look(Rows(), "told", 2).job
    assert job.private
    shared = Looker(settings(private=True, deterministic=True)).look(Rows(), "told", 2).job
    assert not shared.private


def test_nor_is_anything_with_an_opaque_own_part(connection: sqlite3.Connection) -> None:
    def looked_up(sample: int) -> Any:
        return connection.execute("select ?", (sample,)).fetchone()

    looker = Looker(settings(num_workers=None, transform=Steps([looked_up])))
    assert looker.look(Rows(), "given", 2).job.lending is None


@pytest.mark.parametrize("rows", [[1, 2], (1, 2), {0: 1, 1: 2}, range(2), np.arange(2)])
def test_nobody_brings_workers_for_what_python_holds_in_memory(rows: Any, tmp_path: Path) -> None:
    class Mine(list[int]):
        """May do anything to its rows."""

    def job(dataset: Any, **more: Any) -> Job:
        return Looker(settings(**({"num_workers": None} | more))).look(dataset, "given", 2).job

    assert job(rows).at_hand
    assert not job(rows, num_workers=0).at_hand  # somebody else may have prepared them
    assert job(rows, num_workers=1).lending is not None
    assert job(rows, prepare=Steps((str,))).lending is not None
    assert job(Mine((1, 2))).lending is not None
    np.save(tmp_path / "rows.npy", np.arange(2))
    assert job(np.load(tmp_path / "rows.npy", mmap_mode="r")).lending is not None


def test_nobody_brings_workers_for_rows_of_tensors_unless_they_are_asked_for() -> None:
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    tensors = data.TensorDataset(torch.arange(10))

    class Mine(data.TensorDataset):  # type: ignore[misc, name-defined]
        """May do anything to its rows."""

    def lends(dataset: Any, **more: Any) -> bool:
        return Looker(settings(**more)).look(dataset, "given", 2).job.lending is not None

    assert not lends(tensors, num_workers=None)
    assert not lends(data.Subset(tensors, [1, 2]), num_workers=None)
    assert lends(tensors, num_workers=1)
    assert lends(tensors, num_workers=None, transform=Steps((str,)))
    assert lends(Mine(torch.arange(10)), num_workers=None)
