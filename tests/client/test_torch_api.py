"""What is taken from torch: its class, its collation, and what it draws when a pass begins."""

import pickle
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import joader  # noqa: E402
from joader.client import torch_api  # noqa: E402
from joader.client.loader import DataLoader  # noqa: E402


class Mine(DataLoader):
    """A subclass of a user's."""


def test_one_class_is_both_ours_and_torchs() -> None:
    both = torch_api.joined(DataLoader)
    assert issubclass(both, DataLoader)
    assert issubclass(both, torch.utils.data.DataLoader)
    assert torch_api.joined(DataLoader) is both
    assert torch_api.joined(both) is both
    assert (both.__module__, both.__qualname__) == ("joader", "DataLoader")
    mine = torch_api.joined(Mine)
    assert (mine.__module__, mine.__qualname__) == (__name__, "Mine")
    assert issubclass(mine, Mine)


def test_torchs_own_loader_is_found_if_others_stand_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = torch_api.original_loader()
    assert own is torch.utils.data.DataLoader
    for place in (torch.utils.data, torch.utils.data.dataloader):
        monkeypatch.setattr(place, "DataLoader", joader.DataLoader)
    assert torch_api.original_loader.__wrapped__() is own
    # Not a class: a script may fix arguments.
    monkeypatch.setattr(torch.utils.data, "DataLoader", partial(joader.DataLoader, lend=False))
    assert issubclass(torch_api.joined(Mine), own)


def test_a_loader_is_pickled_by_the_name_that_users_know() -> None:
    assert b"joader" in pickle.dumps(joader.DataLoader)
    assert pickle.loads(pickle.dumps(joader.DataLoader)) is joader.DataLoader


def test_batches_are_collated_as_torch_does() -> None:
    samples = [(torch.tensor([1]), 2), (torch.tensor([3]), 4)]
    images, labels = torch_api.collate(samples)
    assert (images.tolist(), labels.tolist()) == ([[1], [3]], [2, 4])
    assert torch_api.collate_of(singly=False) is torch.utils.data.default_collate
    assert torch_api.collate_of(singly=True) is torch.utils.data.default_convert


def test_without_torch_a_batch_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_api, "loaded", lambda: None)
    assert torch_api.collate([1, 2]) == [1, 2]
    assert torch_api.convert((1, "a")) == (1, "a")
    assert torch_api.collate_of(singly=False) is None
    assert torch_api.joined(Mine) is Mine
    assert not torch_api.can_pin()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_pass_draws_from_generators_as_torchs_loader_does(
    workers: int, shuffle: bool, own: bool
) -> None:
    def after(begin: Any) -> tuple[int, int]:
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(5) if own else None
        begin(generator)
        drawn = [int(torch.randint(1 << 30, (), generator=one)) for one in (None, generator)]
        return drawn[0], drawn[1]

    def torchs(generator: Any) -> None:
        # Without workers, which would take seconds to start: they change nothing of this.
        loader = torch.utils.data.DataLoader(range(4), shuffle=shuffle, generator=generator)
        next(iter(loader))

    def ours(generator: Any) -> None:
        torch_api.advance(generator, seeds=True, draws=shuffle)
        if shuffle and generator is not None:
            # torch's sampler draws the order from the user's own; joader's order is another.
            torch.randperm(4, generator=generator)

    assert after(torchs) == after(ours)
