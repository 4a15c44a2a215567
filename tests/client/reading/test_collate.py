"""How samples become a batch, by who is to collate them.

A collate_fn that does what joader's workers would do, for who takes a loader apart.
"""

import pickle
from typing import Any

import numpy as np

from joader import DataLoader
from joader.client.reading.batch_maker import BatchMaker
from joader.client.reading.collate import Collation, Samples, StepsFirst, make
from joader.images import Steps

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


def double(sample: Any) -> Any:
    return sample * 2


def plus_one(sample: Any) -> Any:
    return sample + 1


def total(batch: Any) -> Any:
    return sum(batch)


def test_samples_are_prepared_then_transformed_then_collated_then_the_batch_transformed() -> None:
    collate = StepsFirst(Steps([double]), Steps([plus_one]), list, total, singly=False)
    assert collate([1, 2, 3]) == (1 * 2 + 1) + (2 * 2 + 1) + (3 * 2 + 1)


def test_a_single_sample_is_not_taken_for_a_list_of_them() -> None:
    collate = StepsFirst(Steps([double]), Steps(()), lambda sample: ("one", sample), None, True)
    assert collate([1, 2]) == ("one", [1, 2, 1, 2])


def test_what_has_nothing_to_do_does_nothing() -> None:
    collate = StepsFirst(Steps(()), Steps(()), list, None, singly=False)
    things = [object(), object()]
    assert collate(things) == things


def test_random_steps_differ_from_call_to_call() -> None:
    from joader.images import RandomHorizontalFlip

    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    collate = StepsFirst(Steps(()), Steps([RandomHorizontalFlip()]), list, None, singly=False)
    flipped = {bytes(np.asarray(sample)) for sample in collate([image] * 40)}
    assert len(flipped) == 2


def test_it_goes_to_another_process_as_a_pickle() -> None:
    collate = pickle.loads(
        pickle.dumps(StepsFirst(Steps([double]), Steps([plus_one]), list, total, singly=False))
    )
    assert collate([5]) == 11


class Rows:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, row: int) -> int:
        return row


def test_a_loader_shows_it_only_where_there_are_steps() -> None:
    with_steps = DataLoader(Rows(), 2, prepare=[double], transform=[plus_one], collate_fn=list)
    assert isinstance(with_steps.collate_fn, StepsFirst)
    assert with_steps.collate_fn([1, 2]) == [3, 5]
    plain = DataLoader(Rows(), 2, collate_fn=list)
    assert plain.collate_fn is list


def test_whoever_makes_a_loader_of_it_again_gets_the_same_batches() -> None:
    loader = DataLoader(Rows(), 2, prepare=[double], collate_fn=list, address="/proc/nowhere/sock")
    mine = list(loader)
    again = [loader.collate_fn([Rows()[row] for row in rows]) for rows in loader.batch_sampler]
    assert mine == again == [[0, 2], [4, 6]]
