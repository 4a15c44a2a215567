"""Rows that the job reads by itself: objects as they are, its own random numbers, its own steps."""

import random
from typing import Any

import numpy as np
import pytest

from joader import DataLoader
from joader.client.reading.in_job import InJob
from joader.images import Steps
from joader.recipe.parts import OwnPart, SharedPart

NOWHERE = "/proc/nowhere/daemon.sock"
NOTHING = OwnPart(Steps(()))


class Chance:
    def __len__(self) -> int:
        return 8

    def __getitem__(self, row: int) -> tuple[int, float]:
        return row, random.random()


def in_job(
    dataset: Any,
    own: OwnPart = NOTHING,
    *,
    keyed: bool = False,
    as_worker: bool = False,
    **more: Any,
) -> InJob:
    return InJob(SharedPart(dataset, Steps(()), **more), own, keyed=keyed, as_worker=as_worker)


def test_samples_stay_the_objects_they_are() -> None:
    things = [object(), lambda: 3]
    reader = in_job(things)
    assert [reader.sample(row, 7) for row in range(2)] == things


def test_random_numbers_are_the_jobs_own() -> None:
    reader = in_job(Chance())
    random.seed(1)
    expected = [random.random() for _ in range(3)]
    random.seed(1)
    with reader.undisturbed():
        drawn = [reader.sample(0, key)[1] for key in (7, 7, 8)]
    assert drawn == expected


@pytest.mark.parametrize("as_worker", [False, True])
def test_keyed_they_start_from_the_key_and_the_jobs_are_left_as_they_were(as_worker: bool) -> None:
    reader = in_job(Chance(), keyed=not as_worker, as_worker=as_worker)
    random.seed(1)
    expected = random.random()
    random.seed(1)
    with reader.undisturbed():
        drawn = [reader.sample(0, key)[1] for key in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert random.random() == expected


def test_in_the_jobs_own_name_nothing_of_a_worker_is_done() -> None:
    begun: list[int] = []
    reader = in_job(Chance(), worker_init_fn=begun.append)
    reader.sample(0, 7)
    assert begun == []


def test_in_a_workers_place_it_gets_ready_as_one_and_once() -> None:
    begun: list[int] = []
    reader = in_job(Chance(), as_worker=True, worker_init_fn=begun.append)
    with reader.undisturbed():
        reader.sample(0, 7)
        reader.sample(1, 8)
    assert begun == [0]


def test_what_the_own_part_edits_in_place_is_a_copy() -> None:
    kept = [np.zeros(3)]

    def spoil(sample: Any) -> Any:
        sample += 1
        return sample

    reader = in_job(kept, OwnPart(Steps([spoil])))
    assert reader.sample(0, 7).tolist() == [1, 1, 1]
    assert kept[0].tolist() == [0, 0, 0]


def test_what_others_have_prepared_gets_the_own_part_only() -> None:
    reader = in_job([1, 2], OwnPart(Steps([lambda sample: sample * 10])))
    assert reader.finished(7, 1) == 70
    assert in_job([1, 2]).finished(7, 1) == 7


def test_it_says_which_step_it_is_in() -> None:
    def broken(sample: Any) -> Any:
        raise ValueError("no")

    shared = InJob(SharedPart([1, 2], Steps([broken])), NOTHING, keyed=False, as_worker=False)
    with pytest.raises(ValueError, match="no"):
        shared.sample(0, 1)
    assert shared.at.startswith("prepare: ")
    own = in_job([1, 2], OwnPart(Steps([broken])))
    with pytest.raises(ValueError, match="no"):
        own.sample(0, 1)
    assert own.at.startswith("transform: ")
    rows = in_job([])
    with pytest.raises(IndexError):
        rows.sample(0, 1)
    assert rows.at == "reading the row"


# In a loader that finds no daemon: what num_workers says matters there, too.


def rows_of(**arguments: Any) -> list[float]:
    loader = DataLoader(Chance(), 4, address=NOWHERE, as_numpy=True, **arguments)
    return [value for batch in loader for value in batch[1].tolist()]


def test_without_workers_a_loader_draws_from_the_jobs_generators_as_torchs_does() -> None:
    random.seed(3)
    expected = [random.random() for _ in range(8)]
    random.seed(3)
    assert rows_of(num_workers=0) == expected
    random.seed(3)
    assert rows_of(num_workers=2) != expected


def test_without_workers_a_dataset_may_keep_state_that_others_see() -> None:
    class Counts:
        def __init__(self) -> None:
            self.reads = 0

        def __len__(self) -> int:
            return 6

        def __getitem__(self, row: int) -> int:
            self.reads += 1
            return row

    dataset = Counts()
    loader = DataLoader(dataset, 2, num_workers=0, address=NOWHERE, as_numpy=True)
    assert [dataset.reads for _ in loader] == [2, 4, 6]  # none is read ahead


def test_a_batch_that_is_interrupted_is_read_again_from_its_start() -> None:
    class Impatient:
        pressed = False

        def __len__(self) -> int:
            return 6

        def __getitem__(self, row: int) -> int:
            if row == 4 and not Impatient.pressed:
                Impatient.pressed = True
                raise KeyboardInterrupt
            return row

    loader = DataLoader(Impatient(), 3, num_workers=0, address=NOWHERE, as_numpy=True)
    passing = iter(loader)
    assert next(passing).tolist() == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        next(passing)
    assert [batch.tolist() for batch in passing] == [[3, 4, 5]]
