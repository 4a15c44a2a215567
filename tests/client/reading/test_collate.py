"""How samples become a batch, by who is to collate them."""

from typing import Any

import numpy as np

from joader.client.reading.batch_maker import BatchMaker
from joader.client.reading.collate import Collation, Samples, make

SAMPLES = Samples([np.array([1, 2]), np.array([3, 4])], np.array([7, 9]))


class Labels:
    """Puts the row beside the sample."""

    def batch(self, data: Any, rows: Any, as_numpy: bool) -> Any:
        return data, rows

    def samples(self, samples: Any, rows: Any) -> list[Any]:
        return list(zip(samples, rows.tolist(), strict=True))


def test_a_batch_of_arrays_is_one_array() -> None:
    batch = make(SAMPLES, Collation(None, singly=False, as_numpy=True))
    assert batch.tolist() == [[1, 2], [3, 4]]


def test_columns_at_hand_are_put_beside_it() -> None:
    data, rows = make(SAMPLES, Collation(None, singly=False, as_numpy=True), Labels())
    assert (data.tolist(), rows.tolist()) == ([[1, 2], [3, 4]], [7, 9])


def test_a_collate_fn_gets_the_samples_and_what_joins_them() -> None:
    batch = make(SAMPLES, Collation(list, singly=False, as_numpy=True), Labels())
    assert [(sample.tolist(), row) for sample, row in batch] == [([1, 2], 7), ([3, 4], 9)]


def test_a_sample_alone_is_not_put_into_a_batch() -> None:
    one = Samples(SAMPLES.samples[:1], SAMPLES.rows[:1])
    assert make(one, Collation(None, singly=True, as_numpy=True)).tolist() == [1, 2]
    assert make(one, Collation(np.sum, singly=True, as_numpy=True)) == 3


def test_the_batch_transform_is_applied_after_all() -> None:
    collation = Collation(None, singly=False, as_numpy=True)
    doubled = BatchMaker(collation, pin=False, lend=np.empty, transform=lambda batch: batch * 2)
    plain = BatchMaker(collation, pin=False, lend=np.empty, transform=None)
    batch = plain.collated(SAMPLES, None)
    assert plain.finished(batch) is batch
    assert doubled.finished(batch).tolist() == [[2, 4], [6, 8]]


def test_samples_that_do_not_stack_are_a_list_without_torch() -> None:
    ragged: list[Any] = [np.ones(1), np.ones(2)]
    for samples in (ragged, [None, None]):
        given = Samples(samples, np.arange(2))
        batch = make(given, Collation(None, singly=False, as_numpy=True))
        assert isinstance(batch, list)
        assert len(batch) == 2
