"""States of loaders with torch's samplers: the pass goes on exactly, in other batches too."""

import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils import data as torch_data

import joader
from joader.errors import BadArgument
from tests.processes.torch_data import Numbers

pytestmark = pytest.mark.usefixtures("shared_node")
LENGTH = 60


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def options() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    rows = range(LENGTH)
    kinds = torch_data
    yield "a generator", lambda: {"shuffle": True, "generator": seeded()}
    yield "random", lambda: {"sampler": kinds.RandomSampler(rows)}
    yield "random, seeded", lambda: {"sampler": kinds.RandomSampler(rows, generator=seeded())}
    yield "with replacement", lambda: {"sampler": kinds.RandomSampler(rows, True, 90)}
    yield "weighted", lambda: {"sampler": kinds.WeightedRandomSampler([1.0, 2.0] * 30, 80)}
    yield "subset", lambda: {"sampler": kinds.SubsetRandomSampler(range(7, 50))}
    yield "sequential", lambda: {"sampler": kinds.SequentialSampler(rows)}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in options()])
def test_a_pass_in_torchs_order_goes_on_exactly(make: Callable[[], dict[str, Any]]) -> None:
    torch.manual_seed(5)
    whole = joader.DataLoader(Numbers(LENGTH), batch_size=4, **make())
    rows = [row for batch in whole for row in batch.tolist()]
    torch.manual_seed(5)
    first = joader.DataLoader(Numbers(LENGTH), batch_size=4, **make())
    begun = [row for batch in itertools.islice(first, 5) for row in batch.tolist()]
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    torch.manual_seed(99)  # a new process has other random numbers
    before = torch.get_rng_state()
    file.seek(0)
    second = joader.DataLoader(Numbers(LENGTH), batch_size=7, **make())
    second.load_state_dict(torch.load(file))
    middle = [row for batch in itertools.islice(second, 2) for row in batch.tolist()]
    if getattr(make().get("sampler"), "generator", "none") is None:  # it draws from torch's own
        assert torch.equal(torch.get_rng_state(), before)
    third = joader.DataLoader(Numbers(LENGTH), batch_size=4, **make())
    third.load_state_dict(second.state_dict())
    assert begun + middle + [row for batch in third for row in batch.tolist()] == rows
    for loader in (whole, first, second, third):
        loader.close()


def test_passes_after_a_resumed_one_follow_the_generator() -> None:
    def loader() -> Any:
        return joader.DataLoader(Numbers(LENGTH), batch_size=8, shuffle=True, generator=seeded())

    one = loader()
    passes = [[row for batch in one for row in batch.tolist()] for _ in range(2)]
    other = loader()
    for _ in itertools.islice(other, 3):
        pass
    again = loader()
    again.load_state_dict(other.state_dict())
    rest, then = ([row for batch in again for row in batch.tolist()] for _ in range(2))
    assert (rest, then) == (passes[0][24:], passes[1])
    again.close()
    at_end = loader()
    assert [row for batch in at_end for row in batch.tolist()] == passes[0]
    again.load_state_dict(at_end.state_dict())
    assert [row for batch in again for row in batch.tolist()] == passes[1]
    for used in (one, other, again, at_end):
        used.close()


# Frameworks that make a loader of torch's own out of ours, in the middle of an epoch.


class _Skipping(torch_data.BatchSampler):
    def __init__(self, batch_sampler: Any, skip: int) -> None:
        self.batch_sampler, self.skip = batch_sampler, skip

    def __iter__(self) -> Iterator[list[int]]:
        return itertools.islice(iter(self.batch_sampler), self.skip, None)

    def __len__(self) -> int:
        return len(self.batch_sampler) - self.skip


def skip_first_batches(dataloader: Any, num_batches: int = 0) -> Any:
    """Do as Accelerate's function of this name, which the Hugging Face Trainer calls."""
    rest = _Skipping(dataloader.batch_sampler, num_batches)
    return torch_data.DataLoader(
        dataloader.dataset,
        batch_sampler=rest,
        num_workers=dataloader.num_workers,
        generator=dataloader.generator,
    )


def rows_of(batches: Any) -> list[int]:
    return [row for batch in batches for row in batch.tolist()]


def loader_of(**more: Any) -> Any:
    return joader.DataLoader(Numbers(LENGTH), batch_size=4, **more)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("workers", "epoch"), [(0, 0), (1, 2)])
def test_a_seeded_epoch_goes_on_in_a_loader_that_skips_its_first_batches(
    workers: int, epoch: int, drop_last: bool
) -> None:
    more = {"shuffle": True, "order": "seeded", "seed": 5, "num_workers": workers}
    first, second = (loader_of(drop_last=drop_last, **more) for _ in range(2))
    first.set_epoch(epoch)
    whole, following = rows_of(first), rows_of(first)
    skipping = skip_first_batches(second, 6)
    assert len(skipping) == len(second) - 6
    skipping.batch_sampler.batch_sampler.set_epoch(epoch)  # as the Trainer does
    assert rows_of(skipping) == whole[24:]
    assert rows_of(second) == following
    for loader in (first, second):
        loader.close()


def test_an_epoch_whose_order_nobody_knows_does_not_go_on_in_another_loader() -> None:
    for order in ("shared", "joint"):
        loader = loader_of(shuffle=True, order=order)
        with pytest.raises(BadArgument, match="ignore_data_skip=True"):
            skip_first_batches(loader, 3)
        # From the start any order will do, and there is nothing to go on with.
        assert sorted(rows_of(skip_first_batches(loader, 0))) == list(range(LENGTH))
        loader.close()
    unsaid = skip_first_batches(loader_of(shuffle=True, order="seeded"), 3)
    with pytest.raises(BadArgument, match="which epoch it is: call set_epoch"):
        rows_of(unsaid)


def test_an_order_of_torchs_goes_on_in_a_loader_that_skips_its_first_batches() -> None:
    for more in ({}, {"shuffle": True, "generator": seeded()}):
        first, again = loader_of(**more), {**more, "generator": seeded()} if more else more
        rows = rows_of(first)
        assert rows_of(skip_first_batches(loader_of(**again), 3)) == rows[12:]
        first.close()


def test_a_state_of_an_epoch_goes_on_or_is_left_where_another_loader_skips() -> None:
    first = loader_of(shuffle=True, order="seeded")
    rows = rows_of(itertools.islice(first, 3))
    second = loader_of(shuffle=True, order="seeded")
    second.load_state_dict(first.state_dict())
    rows += rows_of(skip_first_batches(second, 3))
    assert sorted(rows) == list(range(LENGTH))
    assert len(rows_of(second)) == LENGTH  # the next epoch, from its start
    for loader in (first, second):
        loader.close()
