"""What torch's loader is told, ours is told: order, samplers, lengths, seeds, workers.

After the checks of torch's own test/test_dataloader.py that make sense for map-style datasets.
"""

import copy
import itertools
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import data as torch_data

import joader
from joader.errors import BadArgument, Overdue, RowFailed
from tests.processes.conftest import Node
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


def both(*arguments: Any, **more: Any) -> tuple[list[list[int]], list[list[int]]]:
    """Return what our loader and torch's give; generators in `more` are given to both as new."""
    results = []
    for kind in (joader.DataLoader, torch_data.DataLoader):
        made = {name: value() if callable(value) else value for name, value in more.items()}
        loader = kind(*arguments, **made)
        results.append([batch.tolist() for batch in loader])
        assert len(loader) == len(results[-1])
    return results[0], results[1]


# The order.


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 5, 100])
def test_without_shuffle_batches_are_those_of_torch(batch_size: int, drop_last: bool) -> None:
    ours, theirs = both(Numbers(23), batch_size=batch_size, drop_last=drop_last)
    assert ours == theirs


@pytest.mark.parametrize("order", ["shared", "seeded"])
def test_shuffled_every_row_comes_once_and_each_pass_differs(order: str) -> None:
    loader = joader.DataLoader(Numbers(100), batch_size=8, shuffle=True, order=order)
    first, second = [list(itertools.chain(*(b.tolist() for b in loader))) for _ in range(2)]
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second != list(range(100))
    loader.close()


def test_single_samples_are_not_collated() -> None:
    ours, theirs = (
        both(torch_data.TensorDataset(torch.arange(20.0)[:, None]), batch_size=None)
        if False
        else ([], [])
    )
    assert ours == theirs
    loader = joader.DataLoader(Made(lambda row: {"row": row, "name": f"n{row}"}), batch_size=None)
    assert list(loader) == [{"row": row, "name": f"n{row}"} for row in range(4)]
    shuffled = joader.DataLoader(Numbers(50), batch_size=None, shuffle=True)
    assert len(shuffled) == 50
    assert sorted(shuffled) == list(range(50))


def test_a_generator_gives_the_order_it_gives_torch() -> None:
    make = lambda: torch.Generator().manual_seed(7)  # noqa: E731
    assert len({str(order) for order in both(Numbers(30), 4, True, generator=make)}) == 1
    ours = joader.DataLoader(Numbers(30), 4, True, generator=make())
    theirs = torch_data.DataLoader(Numbers(30), 4, True, generator=make())
    for _ in range(3):  # and goes on as it does there
        assert [b.tolist() for b in ours] == [b.tolist() for b in theirs]
    ours.close()


def samplers() -> Iterator[tuple[str, Any]]:
    rows = Numbers(20)
    seeded = lambda: torch.Generator().manual_seed(3)  # noqa: E731
    yield "random", lambda: torch_data.RandomSampler(rows, generator=seeded())
    yield (
        "random with replacement",
        lambda: torch_data.RandomSampler(rows, True, 50, generator=seeded()),
    )
    yield (
        "weighted",
        lambda: torch_data.WeightedRandomSampler([0.0, 1, 3, 0, 9] * 4, 40, generator=seeded()),
    )
    yield "subset", lambda: torch_data.SubsetRandomSampler([3, 4, 5, 9], generator=seeded())
    yield "sequential", lambda: torch_data.SequentialSampler(rows)
    yield "a list with repeats", lambda: [5, 5, 5, 1, 5]
    yield "counted from the end", lambda: [-1, 0, -20]
    yield "nothing", list


@pytest.mark.parametrize("sampler", [pytest.param(make, id=name) for name, make in samplers()])
@pytest.mark.parametrize("batch_size", [3, None])
def test_samplers_are_obeyed_as_torch_does(sampler: Any, batch_size: int | None) -> None:
    ours, theirs = (
        [
            torch.as_tensor(batch).tolist()
            for batch in kind(Made(int, 20), batch_size=batch_size, sampler=sampler())
        ]
        for kind in (joader.DataLoader, torch_data.DataLoader)
    )
    if sampler() == [-1, 0, -20]:  # torch hands them to the dataset as they are
        theirs = [[19, 0, 0]] if batch_size else [19, 0, 0]
    assert ours == theirs


def test_samplers_without_a_generator_follow_torch_manual_seed() -> None:
    torch.manual_seed(5)
    ours = read(joader.DataLoader(Numbers(20), 3, sampler=torch_data.RandomSampler(range(20))))
    torch.manual_seed(5)
    theirs = read_theirs(torch_data.RandomSampler(range(20)))
    assert ours == theirs


def read_theirs(sampler: Any) -> list[list[int]]:
    return [batch.tolist() for batch in torch_data.DataLoader(Numbers(20), 3, sampler=sampler)]


def test_batch_samplers_may_vary_the_size_of_batches() -> None:
    batches = [[1], [2, 3, 4, 4, 4], [0] * 40, [5, 6], list(range(100, 160))]
    loader = joader.DataLoader(Numbers(200), batch_sampler=batches)
    assert len(loader) == 5
    assert loader.batch_size is None
    for _ in range(2):
        assert [batch.tolist() for batch in loader] == batches
    loader.close()
    tensors = [torch.tensor([3, 1]), torch.tensor([2])]
    assert read(joader.DataLoader(Numbers(9), batch_sampler=tensors)) == [[3, 1], [2]]
    torch_batches = torch_data.BatchSampler(torch_data.SequentialSampler(Numbers(9)), 4, True)
    assert read(joader.DataLoader(Numbers(9), batch_sampler=torch_batches)) == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]


def test_a_sampler_may_be_endless_or_read_once() -> None:
    endless = joader.DataLoader(Numbers(5), 4, sampler=itertools.cycle(range(5)))
    seen = [batch.tolist() for batch in itertools.islice(endless, 50)]
    assert list(itertools.chain(*seen)) == [number % 5 for number in range(200)]
    with pytest.raises(TypeError, match="has no len"):
        len(endless)
    endless.close()
    once = joader.DataLoader(Numbers(5), 2, sampler=(row for row in (4, 2, 0)))
    assert [batch.tolist() for batch in once] == [[4, 2], [0]]
    assert list(once) == []
    once.close()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"sampler": ["a"]}, "the sampler gave 'a'; positions of this dataset are integers from 0"),
        ({"sampler": [5]}, "the sampler gave 5; positions .* from 0 to 4"),
        ({"sampler": [1.5]}, "the sampler gave 1.5"),
        ({"sampler": [[0, 1]], "batch_size": None}, "lists of positions as batch_sampler="),
        ({"batch_sampler": [3]}, "the batch sampler gave 3; it gives a list"),
        ({"batch_sampler": [[]]}, "gave an empty batch"),
    ],
)
def test_what_a_sampler_gives_must_be_positions(arguments: Any, word: str) -> None:
    loader = joader.DataLoader(Numbers(5), **arguments)
    with pytest.raises(BadArgument, match=word):
        list(loader)


def test_an_error_of_a_sampler_comes_after_the_batches_before_it() -> None:
    def sampler() -> Iterator[int]:
        yield from (0, 1, 2)
        raise RuntimeError("no more")

    loader = joader.DataLoader(Numbers(5), 1, sampler=sampler())
    passing = iter(loader)
    assert [next(passing).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="no more"):
        next(passing)
    assert list(passing) == []
    loader.close()


# Datasets.


def test_nests_of_subsets_and_concatenations_read_the_right_rows() -> None:
    a, b = Numbers(10), Made(lambda row: 100 + row, 10)
    halves = torch_data.random_split(a, [5, 5], torch.Generator().manual_seed(0))
    joined = torch_data.ConcatDataset([b, halves[1], torch_data.Subset(b, [9, 9, 0])])
    nest = torch_data.Subset(joined, [0, 17, 16, 15, 12, 3, 3])
    ours, theirs = both(nest, batch_size=3)
    assert ours == theirs
    loader = joader.DataLoader(torch_data.Subset(a, [1, 1, 1, 2]), 2, shuffle=True)
    assert sorted(itertools.chain(*read(loader))) == [1, 1, 1, 2]


def test_tensor_datasets_give_lists_of_tensors() -> None:
    images, labels = torch.randn(11, 2, 3), torch.arange(11)
    loader = joader.DataLoader(torch_data.TensorDataset(images, labels), batch_size=4)
    batches = list(loader)
    assert torch.equal(torch.cat([batch[0] for batch in batches]), images)
    assert torch.equal(torch.cat([batch[1] for batch in batches]), labels)
    loader.close()


def test_an_empty_dataset_gives_no_batch() -> None:
    for shuffle in (False, True):
        loader = joader.DataLoader(Numbers(0), 4, shuffle)
        assert (len(loader), read(loader)) == (0, [])


def test_streams_and_dicts_are_refused_with_what_to_use() -> None:
    class Stream(torch_data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    with pytest.raises(BadArgument, match=r"keep torch\.utils\.data\.DataLoader for this one"):
        joader.DataLoader(Stream())
    with pytest.raises(BadArgument, match="keep torch"):
        joader.DataLoader(iter([1, 2]))
    with pytest.raises(BadArgument, match="whose keys are not 0 to 1; give a list"):
        joader.DataLoader({"a": 1, "b": 2})
    assert read(joader.DataLoader({0: 5, 1: 6}, 2)) == [[5, 6]]


# What torch's loader is told besides.


def test_every_combination_of_worker_arguments_is_taken() -> None:
    choices: dict[str, list[Any]] = {
        "num_workers": [0, 3],
        "prefetch_factor": [None, 4],
        "persistent_workers": [False, True],
        "multiprocessing_context": [None, "spawn", "fork"],
        "in_order": [True, False],
        "pin_memory_device": ["", "cuda"],
        "timeout": [0, 9.5],
    }
    for number, values in enumerate(itertools.product(*choices.values())):
        named = dict(zip(choices, values, strict=True))
        loader = joader.DataLoader(Numbers(5), **named)
        # A framework that makes torch's loader from these attributes must be able to.
        torch_data.DataLoader(
            loader.dataset, **{name: getattr(loader, name) for name in list(choices)[:3]}
        )
        assert loader.timeout_s == (9.5 if named["timeout"] else 120.0)
        assert loader.in_order is named["in_order"]
        if number % 48 == 0:
            assert len(read(loader)) == 5
    assert len(read(joader.DataLoader(Numbers(5), timeout=float("inf")))) == 5
    with pytest.raises(BadArgument, match="num_workers is -1"):
        joader.DataLoader(Numbers(5), num_workers=-1)
    with pytest.raises(BadArgument, match="prefetch_factor is -2"):
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
    with pytest.raises(BadArgument, match=r"batch_size|exclude|timeout"):
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


def test_worker_init_fn_runs_once_in_each_worker_for_all_passes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    loader = joader.DataLoader(Numbers(100), 4, worker_init_fn=log_worker(log))
    for _ in range(3):
        list(loader)
    loader.close()
    workers = log.read_text().split()
    assert len(workers) == len(set(workers)) <= 2


def test_an_error_of_worker_init_fn_is_told_with_its_traceback() -> None:
    loader = joader.DataLoader(Numbers(4), worker_init_fn=break_down)
    with pytest.raises(RowFailed, match=r"KeyError: .*has no key") as error:
        list(loader)
    assert "raised by worker_init_fn" in str(error.value)


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
    with pytest.raises(BadArgument, match="None is no state of a loader; give what state_dict"):
        loader.load_state_dict(None)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="it lacks done"):
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
        with pytest.raises(RowFailed, match="RuntimeError: no such photo") as error:
            next(passing)
        assert 'raise RuntimeError("no such photo")' in str(error.value)
        assert "row 2" in str(error.value)
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


def test_a_dataset_that_cannot_travel_is_named_to_the_attribute() -> None:
    loader = joader.DataLoader(Locked())
    with pytest.raises(BadArgument, match=r"dataset\.parts\['reader'\]\[1\] is a _thread.lock"):
        iter(loader)
    lock = Locked().parts["reader"][1]
    with pytest.raises(BadArgument, match=r"steps\.steps\[0\]\.lock is a _thread.lock"):
        iter(joader.DataLoader(Numbers(3), transform=lambda x: (x, lock)))


def test_a_row_that_takes_too_long_is_named(shared_node: Node) -> None:
    def slow(row: int) -> int:
        import time

        time.sleep(3)
        return row

    loader = joader.DataLoader(Made(slow), 2, timeout=0.5)
    with pytest.raises(Overdue, match=r"row \d .* larger timeout="):
        list(loader)
    loader.close()


def test_weights_are_kept(shared_node: Node) -> None:
    sampler = torch_data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, replacement=True)
    loader = joader.DataLoader(Numbers(3), 100, sampler=sampler, deterministic=True)
    counts = Counter(itertools.chain(*(batch.tolist() for batch in loader)))
    assert counts[1] == 0
    assert 2700 < counts[2] < 3300
    assert loader.stats().prepared <= 3 * 40
    loader.close()
