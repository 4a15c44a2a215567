"""Batches on a device, one ahead: all of them, in order, whatever they are made of."""

from collections import namedtuple
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from joader.client.device_prefetcher import DevicePrefetcher  # noqa: E402

Pair = namedtuple("Pair", "image label")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def batches(count: int = 4) -> list[Any]:
    return [
        {
            "pair": Pair(torch.full((2,), n), [torch.tensor(n), (f"row {n}", n)]),
            "nothing": None,
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("device", DEVICES)
def test_every_tensor_of_a_batch_is_moved_and_the_rest_stays(device: str) -> None:
    for n, batch in enumerate(DevicePrefetcher(batches(), device)):
        image, (label, words) = batch["pair"]
        assert type(batch["pair"]) is Pair
        assert (image.device.type, label.device.type) == (device, device)
        assert (image.tolist(), int(label), words) == ([n, n], n, (f"row {n}", n))
        assert batch["nothing"] is None


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_all_batches_come_in_order_with_their_steps_done_in_each_pass(
    device: str, count: int
) -> None:
    loader = DevicePrefetcher(
        [torch.tensor([n]) for n in range(count)], device, batch_transform=lambda one: one * 10
    )
    assert len(loader) == count
    for _ in range(2):
        assert [int(one) for one in loader] == [10 * n for n in range(count)]


def test_on_a_cpu_nothing_is_asked_for_ahead() -> None:
    asked: list[int] = []

    def rows() -> Any:
        for n in range(3):
            asked.append(n)
            yield torch.tensor(n)

    passing = iter(DevicePrefetcher(rows(), "cpu"))
    next(passing)
    assert asked == [0]
