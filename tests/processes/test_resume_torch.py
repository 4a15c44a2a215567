"""States of loaders with torch's samplers: the pass goes on exactly, in other batches too."""

import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils import data as torch_data

import joader
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
