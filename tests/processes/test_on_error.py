"""Rows that cannot be prepared: raised, left out or replaced, and counted."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from joader import DataLoader
from joader.errors import RowFailed
from tests.processes.conftest import Node

pytestmark = pytest.mark.usefixtures("shared_node")


class Numbers:
    """Row i is i; some rows are broken, and one may end its worker."""

    def __init__(self, length: int, broken: tuple[int, ...], deadly: int = -1) -> None:
        self.length, self.broken, self.deadly = length, broken, deadly

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        if row == self.deadly:
            os._exit(1)
        if row in self.broken:
            raise ValueError(f"row {row} is broken")
        return row


@pytest.fixture
def loaders() -> Iterator[Any]:
    made: list[DataLoader] = []

    def make(dataset: Any, batch_size: int | None = 4, **arguments: Any) -> DataLoader:
        made.append(DataLoader(dataset, batch_size, as_numpy=True, **arguments))
        return made[-1]

    yield make
    for loader in made:
        loader.close()


def rows_of(loader: DataLoader) -> list[list[int]]:
    return [np.atleast_1d(batch).tolist() for batch in loader]


def flat(batches: list[list[int]]) -> list[int]:
    return [row for batch in batches for row in batch]


def test_skip_makes_batches_smaller_and_counts(loaders: Any) -> None:
    loader = loaders(Numbers(12, (1, 6, 7)), on_error="skip")
    assert rows_of(loader) == [[0, 2, 3], [4, 5], [8, 9, 10, 11]]
    assert len(loader) == 3
    stats = loader.stats()
    assert (stats.delivered, stats.hits + stats.prepared) == (9, 9)
    assert (stats.skipped, stats.replaced) == (3, 0)


def test_skip_yields_no_empty_batch(loaders: Any) -> None:
    loader = loaders(Numbers(12, (4, 5, 6, 7, 8, 9, 10, 11)), on_error="skip")
    assert rows_of(loader) == [[0, 1, 2, 3]]
    assert loader.stats().skipped == 8
    assert loader.state_dict()["epoch"] == 1  # the pass is complete


def test_replace_repeats_the_nearest_good_row_and_counts(loaders: Any) -> None:
    loader = loaders(Numbers(12, (0, 6, 8, 9, 10, 11)), on_error="replace")
    assert rows_of(loader) == [[1, 1, 2, 3], [4, 5, 5, 7], [7, 7, 7, 7]]
    stats = loader.stats()
    assert (stats.delivered, stats.skipped, stats.replaced) == (6, 0, 6)


def test_replace_needs_a_good_row_to_begin_with(loaders: Any) -> None:
    passing = iter(loaders(Numbers(8, (0, 1, 2, 3)), on_error="replace"))
    with pytest.raises(RowFailed, match=r"row 0 \(position 0\)(?s:.*)ValueError: row 0 is broken"):
        next(passing)


@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("order", ["shared", "seeded"])
def test_every_other_row_comes_once_in_a_shuffled_pass(
    loaders: Any, on_error: str, order: str
) -> None:
    broken = tuple(range(3, 60, 7))
    loader = loaders(Numbers(60, broken), 8, shuffle=True, order=order, on_error=on_error)
    good = sorted(set(range(60)) - set(broken))
    for epoch in range(1, 3):
        batches = rows_of(loader)
        assert sorted(set(flat(batches))) == good
        stats = loader.stats()
        assert stats.skipped + stats.replaced == epoch * len(broken)
        assert stats.delivered == epoch * len(good)
        if on_error == "skip":
            assert sorted(flat(batches)) == good
        else:
            assert [len(batch) for batch in batches] == [8] * 7 + [4]


def test_single_samples_and_samplers(loaders: Any) -> None:
    data = Numbers(6, (2, 3))
    assert rows_of(loaders(data, None, on_error="skip")) == [[0], [1], [4], [5]]
    assert rows_of(loaders(data, None, on_error="replace")) == [[0], [1], [1], [1], [4], [5]]
    told = [[5, 2], [3, 3], [3, 1, 2, 0]]
    assert rows_of(loaders(data, 1, batch_sampler=told, on_error="skip")) == [[5], [1, 0]]
    replaced = loaders(data, 1, batch_sampler=told, on_error="replace")
    assert rows_of(replaced) == [[5, 5], [5, 5], [1, 1, 1, 0]]


def test_raise_names_the_row_that_a_sampler_asked_for(loaders: Any) -> None:
    for named, kind in (({}, ValueError), ({"num_workers": 1}, RowFailed)):
        passing = iter(loaders(Numbers(6, (2,)), 2, sampler=[5, 4, 3, 2], **named))
        assert next(passing).tolist() == [5, 4]
        with pytest.raises(kind, match=r"row 2 \(position 2\)"):
            next(passing)


def test_a_row_that_ends_its_worker_is_skipped_too(loaders: Any) -> None:
    assert rows_of(loaders(Numbers(6, (), 4), 3, on_error="skip")) == [[0, 1, 2], [3, 5]]


def test_rows_that_failed_count_as_read_in_a_state(loaders: Any) -> None:
    data = Numbers(40, (3, 17, 25))
    first = loaders(data, shuffle=True, on_error="skip")
    passing = iter(first)
    before = [row for _ in range(5) for row in next(passing).tolist()]
    second = loaders(data, shuffle=True, on_error="skip")
    second.load_state_dict(first.state_dict())
    after = flat(rows_of(second))
    assert sorted(before + after) == sorted(set(range(40)) - {3, 17, 25})
    assert first.stats().skipped + second.stats().skipped == 3


RANK = """
bad = {str(row): "raise" for row in json.loads(sys.argv[2])}
data = Squares(24, bad=bad)
loader = joader.DataLoader(data, batch_size=2, shuffle=False, job="pair", on_error=sys.argv[1])
rows, states = [], []
for batch in loader:
    rows.append(check(batch))
    states.append(loader.state_dict())
say([rows, states, loader.stats().skipped, loader.stats().replaced])
"""


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_ranks_take_equal_steps_and_agree_on_their_state(shared_node: Node, on_error: str) -> None:
    # Step n has rows 4n to 4n+3, the first two for rank 0; 8 and 9 are a whole part of it.
    places = {"WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": f"{len(on_error)}000"}
    jobs = [
        shared_node.job(RANK, on_error, "[3, 4, 8, 9]", RANK=str(rank), **places)
        for rank in range(2)
    ]
    (rows0, states0, *counts0), (rows1, states1, *counts1) = (job.result()[0] for job in jobs)
    assert len(rows0) == len(rows1) == 6
    assert states0 == states1
    assert rows0[1] == ([5] if on_error == "skip" else [5, 5])
    assert rows0[2] == [5, 5]
    assert rows1[0] == ([2] if on_error == "skip" else [2, 2])
    assert counts0 == ([1, 2] if on_error == "skip" else [0, 3])
    assert counts1 == ([1, 0] if on_error == "skip" else [0, 1])
    assert {row for rows in rows0 + rows1 for row in rows} == set(range(24)) - {3, 4, 8, 9}


def test_a_failing_row_of_a_rank_is_named(shared_node: Node) -> None:
    places = {"WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": "9"}
    jobs = [shared_node.job(RANK, "raise", "[6]", RANK=str(rank), **places) for rank in range(2)]
    assert "row 6 (position 6) could not be prepared" in jobs[1].error()
    jobs[0].kill()
