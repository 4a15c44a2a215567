"""A collate_fn that does what joader's workers would do, for who takes a loader apart."""

import pickle
from typing import Any

import numpy as np

from joader import DataLoader
from joader.client.reading.collate_with_steps import StepsFirst
from joader.images import Steps


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
