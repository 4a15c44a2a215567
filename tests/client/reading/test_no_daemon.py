"""A loader that finds no daemon, and none can be started: it loads in the process itself."""

import gc
import logging
import random
from collections import Counter
from traceback import format_exception
from typing import Any

import numpy as np
import pytest

from joader import DataLoader
from joader.client.reading.no_daemon import Alone
from joader.errors import NoDaemon
from joader.messages import (
    MY_JOB,
    Begin,
    Want,
)

NOWHERE = "/proc/nowhere/daemon.sock"


class Noisy:
    """Row i is i and three random numbers, from all the global generators; some are broken."""

    def __init__(self, length: int, broken: tuple[int, ...] = ()) -> None:
        self.length, self.broken = length, broken

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[int, float, float]:
        if row in self.broken:
            raise ValueError(f"row {row} is broken")
        return row, random.random(), float(np.random.rand())  # noqa: NPY002


def loader_of(dataset: Any, batch_size: int | None = 4, **arguments: Any) -> DataLoader:
    return DataLoader(dataset, batch_size, address=NOWHERE, as_numpy=True, **arguments)


def rows_of(loader: DataLoader) -> list[int]:
    return [int(row) for batch in loader for row in np.atleast_1d(batch[0])]


def test_every_row_comes_once_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    loader = loader_of(Noisy(23), shuffle=True)
    with caplog.at_level(logging.WARNING, "joader"):
        orders = [rows_of(loader) for _ in range(2)]
    assert [sorted(order) for order in orders] == [list(range(23))] * 2
    assert orders[0] != orders[1]
    stats = loader.stats()
    assert (stats.delivered, stats.prepared, stats.hits, stats.fallback) == (46, 46, 0, 46)
    assert len(caplog.messages) == 2  # one a pass
    assert NOWHERE in caplog.messages[0]
    assert "fallback=False raises instead" in caplog.messages[0]


def test_without_fallback_it_raises() -> None:
    with pytest.raises(NoDaemon, match="cannot reach or start a daemon at"):
        iter(loader_of(Noisy(3), fallback=False))


def test_ranks_do_not_fall_back_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NoDaemon):
        iter(loader_of(Noisy(3), job="pair"))


def test_the_random_numbers_of_the_training_are_left_alone() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    untouched = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    assert len(rows_of(loader_of(Noisy(8), shuffle=True))) == 8
    assert (random.random(), np.random.rand()) == untouched  # noqa: NPY002


def test_a_seed_fixes_order_and_content_and_passes_differ() -> None:
    def passes() -> list[list[Any]]:
        loader = loader_of(Noisy(9), 3, shuffle=True, order="seeded", seed=5)
        return [[part.tolist() for batch in loader for part in batch] for _ in range(2)]

    first, second = passes(), passes()
    assert first == second
    assert first[0] != first[1]


def test_orders_are_uniform_over_what_is_left() -> None:
    counts: Counter[tuple[int, ...]] = Counter()
    alone = Alone(np.arange(5), 5, "shared", 0)
    for number in range(1200):
        done = np.array([1, 3], np.int64)
        alone.send(Begin(MY_JOB, 0, done, 7, number=number), Want(MY_JOB, 2), Want(MY_JOB, 1))
        batches = [alone.batch(0) for _ in range(2)]
        drawn = [position for batch in batches for position in batch.positions]
        assert [batch.absent.tolist() for batch in batches] == [[0, 1], [0]]
        counts[tuple(int(position) for position in drawn)] += 1
    assert len(counts) == 6
    assert set(map(frozenset, counts)) == {frozenset({0, 2, 4})}
    assert min(counts.values()) > 140  # 200 each are expected, with a deviation of 13


def test_what_is_edited_in_place_reaches_neither_dataset_nor_the_next_batch() -> None:
    class Kept:
        def __init__(self) -> None:
            self.rows = [np.zeros(3) for _ in range(4)]

        def __len__(self) -> int:
            return 4

        def __getitem__(self, row: int) -> Any:
            return self.rows[row]

    def spoil(sample: Any) -> Any:
        sample += 1
        return sample

    data = Kept()
    for batch in loader_of(data, 2, transform=[spoil]):
        assert (batch == 1).all()
        batch += 5
    for batch in loader_of(data, 2):
        assert (batch == 0).all()
        batch += 5
    assert all((row == 0).all() for row in data.rows)


def test_batches_are_made_as_ever() -> None:
    data = Noisy(7)
    assert [len(batch[0]) for batch in loader_of(data, 3, drop_last=True)] == [3, 3]
    assert rows_of(loader_of(data, None)) == list(range(7))
    assert rows_of(loader_of(data, 1, batch_sampler=[[6, 0], [6]])) == [6, 0, 6]
    assert list(loader_of(data, 4, collate_fn=len)) == [4, 3]
    assert list(loader_of(data, 4, batch_transform=lambda batch: len(batch[0]))) == [4, 3]
    assert list(loader_of(Noisy(0), 4)) == []


def test_a_position_that_comes_twice_has_random_numbers_of_its_own() -> None:
    (batch,) = loader_of(Noisy(3), 4, sampler=[1, 1, 1, 1])
    assert batch[0].tolist() == [1] * 4
    assert len(set(batch[1].tolist())) == 4


def test_a_row_that_fails_is_raised_skipped_or_replaced() -> None:
    data = Noisy(6, broken=(1, 4))
    passing = iter(loader_of(data, 3))
    with pytest.raises(ValueError, match=r"row 1 \(position 1\)") as caught:
        next(passing)
    assert "in __getitem__" in "".join(format_exception(caught.value))
    with pytest.raises(ValueError, match=r"row 4 \(position 4\)"):  # the next batch, as with torch
        next(passing)
    assert list(passing) == []
    assert rows_of(loader_of(data, 3, on_error="skip")) == [0, 2, 3, 5]
    replaced = loader_of(data, 3, on_error="replace")
    assert rows_of(replaced) == [0, 0, 2, 3, 3, 5]
    stats = replaced.stats()
    assert (stats.delivered, stats.replaced, stats.fallback) == (4, 2, 4)


def test_a_collate_fn_that_edits_in_place_gets_each_sample_once() -> None:
    def tenths(samples: list[Any]) -> Any:
        for sample in samples:
            sample /= 10
        return np.stack(samples)

    class Full(Noisy):
        def __getitem__(self, row: int) -> Any:
            return np.full(2, float(super().__getitem__(row)[0]))

    for ways in ({"num_workers": 0}, {}):
        given = {"on_error": "replace", "collate_fn": tenths, **ways}
        (first, second) = loader_of(Full(7, broken=(3, 4, 5, 6)), 4, **given)
        assert first[:, 0].tolist() == [0.0, 0.1, 0.2, 0.2]
        assert second[:, 0].tolist() == [0.2, 0.2, 0.2]
        (twice,) = loader_of(Full(4), 4, sampler=[1, 1, 3, 1], **given)  # as torch's loader
        assert twice[:, 0].tolist() == [0.1, 0.1, 0.3, 0.1]


def test_a_batch_that_was_broken_off_is_still_to_come() -> None:
    class Impatient(Noisy):
        pressed = False

        def __getitem__(self, row: int) -> Any:
            if row == 4 and not Impatient.pressed:
                Impatient.pressed = True
                raise KeyboardInterrupt
            return row, 0

    passing = iter(loader_of(Impatient(9), 3))
    rows = [next(passing)[0].tolist()]
    with pytest.raises(KeyboardInterrupt):
        next(passing)
    assert [*rows, *(batch[0].tolist() for batch in passing)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_worker_init_fn_runs_once_and_its_seeds_stay_there() -> None:
    calls: list[int] = []

    def init(worker: int) -> None:
        calls.append(worker)
        random.seed(0)

    random.seed(9)
    untouched = random.random()
    random.seed(9)
    assert rows_of(loader_of(Noisy(6), 3, worker_init_fn=init)) == list(range(6))
    assert (calls, random.random()) == ([0], untouched)


def test_a_state_of_a_pass_alone_is_a_state_as_any_other() -> None:
    first = loader_of(Noisy(20), shuffle=True)
    passing = iter(first)
    before = [row for _ in range(3) for row in next(passing)[0].tolist()]
    second = loader_of(Noisy(20), shuffle=True)
    second.load_state_dict(first.state_dict())
    assert sorted(before + rows_of(second)) == list(range(20))


def test_torch_workers_end_with_their_pass_not_with_the_garbage_collector() -> None:
    torch = pytest.importorskip("torch")
    before = set(torch.multiprocessing.active_children())
    gc.disable()
    try:
        for _ in loader_of(Noisy(40), num_workers=2):
            pass
        for _ in loader_of(Noisy(40), num_workers=2):
            break
        assert set(torch.multiprocessing.active_children()) <= before
    finally:
        gc.enable()
