"""What torch's loader is told, ours is told: arguments, workers, seeds, checkpoints.

After the checks of torch's own test/test_dataloader.py that make sense for map-style datasets.
"""

import copy
import itertools
import pickle
from collections import Counter
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
import torch
from torch.utils import data as torch_data

import joader
from joader.errors import BadArgument, Overdue, RowFailed
from tests.processes.torch_data import (
    Locked,
    Made,
    Noise,
    Numbers,
    Told,
    break_down,
    leave_mark,
    log_worker,
)

pytestmark = pytest.mark.usefixtures("shared_node")


def read(loader: Any) -> list[list[int]]:
    """Return the numbers of all batches, and end the job."""
    batches = [batch.tolist() for batch in loader]
    loader.close()
    return batches


def test_every_combination_of_worker_arguments_is_taken() -> None:
    choices: dict[str, list[Any]] = {
        "num_workers": [0, 2],
        "prefetch_factor": [None, 4],
        "persistent_workers": [False, True],
        "multiprocessing_context": [None, "spawn", "fork"],
        "in_order": [True, False],
        "pin_memory_device": ["", "cuda"],
        "timeout": [0, 9.5],
    }
    for number, values in enumerate(itertools.product(*choices.values())):
        named = dict(zip(choices, values, strict=True))
        if not named["num_workers"] and any(named[name] for name in list(choices)[1:4]):
            with pytest.raises(ValueError, match="; give num_workers=, too"):
                joader.DataLoader(Numbers(5), **named)
            continue
        loader = joader.DataLoader(Numbers(5), **named)
        # A framework that makes torch's loader from these attributes must be able to.
        torch_data.DataLoader(
            loader.dataset, **{name: getattr(loader, name) for name in list(choices)[:3]}
        )
        assert loader.timeout_s == (9.5 if named["timeout"] else 120.0)
        assert loader.in_order is named["in_order"]
        if number % 20 == 0:
            assert len(read(loader)) == 5
    assert len(read(joader.DataLoader(Numbers(5), timeout=float("inf")))) == 5
    with pytest.raises(BadArgument, match="got num_workers=-1"):
        joader.DataLoader(Numbers(5), num_workers=-1)
    with pytest.raises(BadArgument, match="got prefetch_factor=-2"):
        joader.DataLoader(Numbers(5), prefetch_factor=-2)


def test_arguments_are_taken_by_position_in_torchs_order() -> None:
    collate = torch.tensor
    loader = joader.DataLoader(
        Numbers(7), 3, False, None, None, 2, collate, False, True, 5, None, None, None
    )
    assert (loader.timeout_s, loader.drop_last, loader.collate_fn) == (5, True, collate)
    assert read(loader) == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"timeout": -1},
    ],
)
def test_what_torch_refuses_is_refused(arguments: Any) -> None:
    with pytest.raises(BadArgument, match=r"batch_size|exclusive|timeout"):
        joader.DataLoader(Numbers(3), **arguments)
    with pytest.raises(ValueError, match=r"batch_size|exclusive|timeout"):
        torch_data.DataLoader(Numbers(3), **arguments)


def test_pin_memory_without_a_device_gives_plain_batches() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    assert read(joader.DataLoader(Numbers(4), 2, pin_memory=True)) == [[0, 1], [2, 3]]


# Workers.


def test_worker_init_fn_runs_in_the_workers_and_worker_info_is_there() -> None:
    loader = joader.DataLoader(Told(64), 4, worker_init_fn=leave_mark)
    batches = [torch.stack(batch) for batch in loader]
    seen = torch.cat(batches, 1)
    assert set(seen[1].tolist()) == {2}  # workers of the daemon
    assert set(seen[0].tolist()) <= {0, 1}
    assert torch.equal(seen[2], seen[0] + 100)
    assert torch_data.get_worker_info() is None
    loader.close()
    without = joader.DataLoader(Told(8), 8)
    assert next(iter(without))[2].tolist() == [-1] * 8
    without.close()


@pytest.mark.parametrize("persistent", [True, False])
def test_worker_init_fn_runs_once_in_each_worker_of_a_pass_or_of_all(
    tmp_path: Path, persistent: bool
) -> None:
    log = tmp_path / "log"
    options = {"worker_init_fn": log_worker(log), "persistent_workers": persistent}
    loader = joader.DataLoader(Numbers(100), 4, num_workers=2, **options)
    for _ in range(3):
        list(loader)
    loader.close()
    workers = Counter(log.read_text().split())
    assert workers.keys() <= {"0", "1"}
    # One that is late to be born may work for the next pass instead.
    assert max(workers.values()) in ((1,) if persistent else (2, 3))


def test_an_error_of_worker_init_fn_is_told_with_its_traceback() -> None:
    loader = joader.DataLoader(Numbers(4), worker_init_fn=break_down)
    with pytest.raises(KeyError, match="has no key") as error:
        list(loader)
    assert "raised by worker_init_fn" in str(error.value.__notes__)


# Seeds.


def test_random_numbers_are_new_in_every_pass_and_the_same_for_a_seed() -> None:
    def drawn(**more: Any) -> list[Any]:
        loader = joader.DataLoader(Noise(40), 8, True, **more)
        found = []
        for _ in range(2):
            rows, numbers = zip(*loader, strict=True)
            pairs = zip(torch.cat(rows).tolist(), torch.cat(numbers).tolist(), strict=True)
            found.append(sorted((row, *pair) for row, pair in pairs))
        loader.close()
        return found

    first, second = drawn(order="seeded", seed=4)
    assert first != second
    assert drawn(order="seeded", seed=4) == [first, second]
    assert drawn(order="seeded", generator=torch.Generator().manual_seed(4)) == [first, second]
    torch.manual_seed(1)
    unseeded = drawn()
    torch.manual_seed(1)
    assert drawn() != unseeded  # the job's own generator is not the workers'


@pytest.mark.parametrize("more", [{}, {"sampler": [3, 3, 1, 0, 17, 3]}])
def test_a_seed_counts_in_any_order_and_beside_any_job(more: Any) -> None:
    def numbers(loader: joader.DataLoader) -> list[Any]:
        return [batch[1].tolist() for batch in loader]

    def seeded() -> joader.DataLoader:
        return joader.DataLoader(Noise(40), 2, order="seeded", seed=9, **more)

    alone = seeded()
    expected = numbers(alone)
    alone.close()
    others = [joader.DataLoader(Noise(40), 2, shuffle=True) for _ in range(2)]
    passes = [iter(other) for other in others]
    for passing in passes:
        next(passing)
    beside = seeded()
    assert numbers(beside) == expected
    for loader in (beside, *others):
        loader.close()


# The object.


def test_a_loader_is_one_of_torch_and_so_is_that_of_a_subclass() -> None:
    class Mine(joader.DataLoader):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.mine = True

    for kind in (joader.DataLoader, Mine):
        loader = kind(Numbers(10), 4)
        assert isinstance(loader, torch_data.DataLoader)
        assert isinstance(loader, kind)
        assert type(loader).__name__ == kind.__name__
        assert isinstance(loader.sampler, torch_data.SequentialSampler)
        assert isinstance(loader.batch_sampler, torch_data.BatchSampler)
        assert loader.collate_fn is torch_data.default_collate
        assert (loader.num_workers, loader.prefetch_factor, loader.timeout) == (0, None, 0)
        assert len(read(loader)) == 3
    assert joader.DataLoader[int]


def test_what_was_looked_at_cannot_be_changed_and_the_rest_can() -> None:
    loader = joader.DataLoader(Numbers(10), 4, key="numbers")
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset", "order"):
        with pytest.raises(BadArgument, match=f"{name} of a loader cannot be changed"):
            setattr(loader, name, 1)
    loader.collate_fn = sum
    loader.timeout = 30
    assert list(loader) == [6, 22, 17]
    assert loader.timeout_s == 30
    loader.close()


def test_a_loader_says_what_it_is() -> None:
    text = repr(joader.DataLoader(Numbers(10), 4, True, job="resnet", drop_last=True))
    assert text == (
        "joader.DataLoader(Numbers of 10, batch_size=4, order='shared', drop_last=True, "
        "job='resnet')"
    )
    told = joader.DataLoader(Numbers(10), batch_sampler=[[1, 2]], job="j")
    assert repr(told) == "joader.DataLoader(Numbers of 10, in the order of list, job='j')"


def test_copies_are_loaders_of_their_own() -> None:
    loader = joader.DataLoader(Numbers(10), 4, generator=torch.Generator().manual_seed(1))
    list(loader)
    passing = iter(loader)
    next(passing)
    for other in (pickle.loads(pickle.dumps(loader)), copy.copy(loader), copy.deepcopy(loader)):
        assert isinstance(other, torch_data.DataLoader)
        assert read(other) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert next(passing).tolist() == [4, 5, 6, 7]
    loader.close()


def test_two_iterators_read_the_whole_each() -> None:
    loader = joader.DataLoader(Numbers(20), 3, True)
    first, second = [], []
    assert len(iter(loader)) == 7
    for one, other in zip(loader, loader, strict=True):
        first += one.tolist()
        second += other.tolist()
    assert sorted(first) == sorted(second) == list(range(20))
    loader.close()


def test_a_pass_that_is_broken_off_leaves_the_next_whole() -> None:
    loader = joader.DataLoader(Numbers(20), 3, True)
    for _ in range(5):
        for batch in loader:
            assert batch.numel() == 3
            break
    assert sorted(itertools.chain(*read(loader))) == list(range(20))


# Checkpoints of what torch users pass.


def test_a_pass_in_a_samplers_order_goes_on_where_it_was() -> None:
    def make() -> joader.DataLoader:
        generator = torch.Generator().manual_seed(11)
        sampler = torch_data.RandomSampler(Numbers(30), True, 40, generator=generator)
        return joader.DataLoader(Numbers(30), 4, sampler=sampler)

    loader = make()
    first = [batch.tolist() for batch in loader]
    passing = iter(loader)
    second = [next(passing).tolist() for _ in range(3)]
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    second += [batch.tolist() for batch in passing]
    again = make()
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert [batch.tolist() for batch in again] == second[3:]
    assert second != first
    for each in (loader, again):
        each.close()


def test_a_state_that_is_none_is_refused_with_a_sentence() -> None:
    loader = joader.DataLoader(Numbers(4))
    with pytest.raises(BadArgument, match="None is not a state of a loader; give what state_dict"):
        loader.load_state_dict(None)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="it lacks version, length"):
        loader.load_state_dict({})
    told = joader.DataLoader(Numbers(4), sampler=[1])
    with pytest.raises(BadArgument, match="with a sampler and this one has none"):
        loader.load_state_dict(told.state_dict())


# Errors.


def test_an_error_names_its_type_and_the_line_and_the_loader_can_be_used_again() -> None:
    def broken(row: int) -> int:
        if row == 2:
            raise RuntimeError("no such photo")
        return row

    loader = joader.DataLoader(Made(broken), 2)
    for _ in range(2):
        passing = iter(loader)
        assert next(passing).tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="no such photo") as error:
            next(passing)
        assert 'raise RuntimeError("no such photo")' in "".join(format_exception(error.value))
        assert "row 2" in str(error.value.__notes__)
        assert list(passing) == []
    loader.close()


def test_after_an_error_of_collate_fn_the_next_batch_comes() -> None:
    def picky(samples: list[int]) -> list[int]:
        if 3 in samples:
            raise ValueError("not three")
        return samples

    loader = joader.DataLoader(Numbers(12), 2, collate_fn=picky, timeout=20)
    for _ in range(4):
        passing = iter(loader)
        assert next(passing) == [0, 1]
        with pytest.raises(ValueError, match="not three"):
            next(passing)
        assert list(passing) == [[4, 5], [6, 7], [8, 9], [10, 11]]
    loader.close()


def test_a_dataset_with_a_lock_is_read_and_shared_and_does_not_travel_as_with_torch() -> None:
    for options in ({}, {"num_workers": 0}, {"num_workers": 1}):
        assert read(joader.DataLoader(Locked(), 3, **options)) == [[0, 1, 2]]
    lock = Locked().parts["reader"][1]
    with joader.DataLoader(Numbers(3), 3, num_workers=1, transform=lambda x: (x, id(lock))) as own:
        ((_, found),) = own
        assert found.tolist() == [id(lock)] * 3
    elsewhere = joader.DataLoader(Locked(), num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object"):
        iter(elsewhere)


def test_a_row_that_takes_too_long_is_named() -> None:
    def slow(row: int) -> int:
        import time

        time.sleep(3)
        return row

    loader = joader.DataLoader(Made(slow), 2, timeout=0.5)
    with pytest.raises((RowFailed, Overdue), match=r"row \d "):  # whoever loses patience first
        list(loader)
    loader.close()
