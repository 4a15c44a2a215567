"""The order of rows is that of torch's loader: samplers, batches, generators, nested datasets.

After the checks of torch's own test/test_dataloader.py that make sense for map-style datasets.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import data as torch_data

import joader
from joader.errors import BadArgument
from tests.processes.torch_data import Made, Numbers

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
    "arguments",
    [
        {"sampler": ["a"]},
        {"sampler": [5]},  # beyond the dataset's length, which is the dataset's business
        {"sampler": [1.5]},
        {"sampler": [[0, 1]], "batch_size": None},
        {"batch_sampler": [3]},
        {"batch_sampler": [["a", "b"], [0]], "num_workers": 1},
    ],
)
def test_keys_that_are_not_positions_are_read_as_torch_reads_them(arguments: Any) -> None:
    def outcome(kind: Any) -> Any:
        try:
            return [batch if isinstance(batch, list) else batch.tolist() for batch in kind]
        except Exception as error:
            return type(error), str(error)

    ours = joader.DataLoader(Numbers(5), **arguments)
    assert outcome(ours) == outcome(torch_data.DataLoader(Numbers(5), **arguments))
    ours.close()


def test_an_empty_batch_of_a_sampler_is_refused() -> None:
    with pytest.raises(BadArgument, match="gave an empty batch"):
        list(joader.DataLoader(Numbers(5), batch_sampler=[[]]))


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


def test_streams_and_dicts_are_read_as_torch_reads_them() -> None:
    class Stream(torch_data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    for options in ({}, {"num_workers": 1}):
        assert read(joader.DataLoader(Stream(), 2, **options)) == [[0, 1], [2]]
    with pytest.raises(KeyError):
        list(joader.DataLoader({"a": 1, "b": 2}))
    assert read(joader.DataLoader({0: 5, 1: 6}, 2)) == [[5, 6]]


def test_weights_are_kept() -> None:
    sampler = torch_data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, replacement=True)
    loader = joader.DataLoader(Numbers(3), 100, sampler=sampler, deterministic=True)
    counts = Counter(itertools.chain(*(batch.tolist() for batch in loader)))
    assert counts[1] == 0
    assert 2700 < counts[2] < 3300
    assert loader.stats().prepared <= 3 * 40
    loader.close()
