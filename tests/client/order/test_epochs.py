"""Which pass comes next, and where it goes on."""

from typing import Any

import numpy as np
import pytest

from joader.client.dataset.identity import Identity
from joader.client.order.epochs import Epochs
from joader.client.order.ordering import Ordering
from joader.errors import BadArgument
from joader.messages import MY_JOB, Deliver

IDENTITY = Identity("numbers", [], np.arange(10))
_NONE = np.empty(0, np.int64)


def ordering(order: str = "shared", **changes: Any) -> Ordering:
    usual: dict[str, Any] = {"shuffle": True, "by_sampler": False, "seed": 1}
    return Ordering(order=order, **(usual | {"batch_size": 4, "drop_last": False} | changes))


def batch(*positions: int) -> Deliver:
    numbers = np.array(positions, np.int64)
    return Deliver(MY_JOB, positions=numbers, samples=_NONE, offsets=_NONE, prepared=0)


def test_each_pass_is_of_the_next_epoch() -> None:
    epochs = Epochs()
    for epoch in range(3):
        assert epochs.next == epoch
        source = epochs.next_source(ordering(), IDENTITY)
        epochs.begin(source)
        assert (source.epoch, epochs.latest) == (epoch, epoch)


def test_a_state_holds_what_the_pass_under_way_has_yielded_and_goes_on_after_it() -> None:
    epochs, other = Epochs(), Epochs()
    source = epochs.next_source(ordering(), IDENTITY)
    epochs.begin(source)
    source.note(batch(3, 1, 4, 5))
    state = epochs.state(ordering(), IDENTITY)
    other.load(state, ordering(), IDENTITY)
    assert other.resuming
    assert other.state(ordering(), IDENTITY) == state
    again = other.next_source(ordering(), IDENTITY)
    assert again.begin(1).done.tolist() == [1, 3, 4, 5]
    assert again.begin(1).key == source.begin(1).key
    other.begin(again)
    assert (other.resuming, other.next) == (False, 1)


def test_a_state_of_which_nothing_is_left_goes_on_with_the_next_epoch() -> None:
    epochs, other = Epochs(), Epochs()
    source = epochs.next_source(ordering(), IDENTITY)
    epochs.begin(source)
    source.note(batch(0, 1, 2, 3))
    source.note(batch(4, 5, 6, 7))
    other.load(epochs.state(ordering(), IDENTITY), ordering(), IDENTITY)
    dropping = ordering(drop_last=True)  # two rows are left, which are not a batch
    assert other.next_source(dropping, IDENTITY).epoch == 1


def test_a_state_stays_if_it_is_of_the_epoch_that_is_set() -> None:
    epochs = Epochs()
    epochs.load(Epochs().state(ordering(), IDENTITY), ordering(), IDENTITY)
    epochs.set_next(0)
    assert epochs.resuming
    epochs.set_next(1)
    assert not epochs.resuming
    with pytest.raises(BadArgument, match="epoch is True"):
        epochs.set_next(True)


def test_a_state_of_another_seed_or_of_a_sampler_is_refused() -> None:
    epochs, seeded = Epochs(), ordering("seeded")
    state = epochs.state(seeded, IDENTITY)
    with pytest.raises(BadArgument, match="of seed 1, this loader has seed 2"):
        epochs.load(state, ordering("seeded", seed=2), IDENTITY)
    with pytest.raises(BadArgument, match="with a sampler and this one has none"):
        epochs.load(state, ordering(by_sampler=True, sampler=[1]), IDENTITY)
    assert not epochs.resuming


def test_seeded_passes_of_one_epoch_differ_and_are_the_same_in_every_run() -> None:
    def keys(epochs: Epochs) -> list[int]:
        found = []
        for _ in range(2):
            epochs.set_next(3)
            source = epochs.next_source(ordering("seeded"), IDENTITY)
            epochs.begin(source)
            found.append(source.begin(1).key)
        return found

    first = keys(Epochs())
    assert first[0] != first[1]
    assert keys(Epochs()) == first


def test_a_copy_has_no_pass_and_counts_for_itself() -> None:
    epochs = Epochs()
    other = epochs.copied()
    first = epochs.next_source(ordering("seeded"), IDENTITY)
    epochs.begin(first)
    assert (other.next, other.latest) == (0, 0)
    # Each begins its first pass of the epoch: the copy's is not counted as the second.
    key = other.next_source(ordering("seeded"), IDENTITY).begin(1).key
    assert key == first.begin(1).key


def test_a_distributed_sampler_says_the_epoch_if_no_state_does() -> None:
    class Sampler:
        epoch = 0

    sampler = Sampler()
    epochs = Epochs(sampler)
    sampler.epoch = 7
    assert epochs.next_source(ordering(), IDENTITY).epoch == 7
    other = Epochs(sampler)
    other.load(Epochs().state(ordering(), IDENTITY), ordering(), IDENTITY)
    assert other.next_source(ordering(), IDENTITY).epoch == 0
