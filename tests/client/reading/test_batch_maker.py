"""How a loader makes its batches."""

from typing import Any

import numpy as np

from joader.client import torch_api
from joader.client.reading.batch_maker import BatchMaker
from joader.client.reading.collate import Collation, Samples, Slots
from joader.memory import pack

SAMPLES = Samples([np.array([1, 2]), np.array([3, 4])], np.array([7, 9]))


def maker(lent: list[int] | None = None, pin: bool = False, **changed: Any) -> BatchMaker:
    def lend(size_bytes: int) -> Any:
        if lent is not None:
            lent.append(size_bytes)
        return np.empty(size_bytes, np.uint8)

    usual: dict[str, Any] = {"collation": Collation(None, singly=False, as_numpy=True)}
    return BatchMaker(**(usual | {"pin": pin, "lend": lend, "transform": None} | changed))


def slots() -> Slots:
    memory = np.zeros(256, np.uint8)
    parcels = [pack(sample) for sample in SAMPLES.samples]
    for number, parcel in enumerate(parcels):
        parcel.write(memory[number * 128 : number * 128 + 128])
    offsets = np.array([0, 128])
    return Slots([parcel.layout for parcel in parcels], memory, offsets, SAMPLES.rows)


def test_slots_and_samples_make_the_same_batch() -> None:
    for whole in (SAMPLES, slots()):
        assert np.asarray(maker().collated(whole, None)).tolist() == [[1, 2], [3, 4]]


def test_slots_are_copied_into_memory_that_is_lent() -> None:
    lent: list[int] = []
    whole = slots()
    batch = maker(lent).collated(whole, None)
    assert lent == [32]
    whole.memory[:] = 0
    assert np.asarray(batch).tolist() == [[1, 2], [3, 4]]


def test_without_a_device_nothing_is_pinned(monkeypatch: Any) -> None:
    monkeypatch.setattr(torch_api, "can_pin", lambda: False)
    lent: list[int] = []
    maker(lent, pin=True).collated(slots(), None)
    assert lent == [32]


def test_the_batch_transform_comes_last_and_may_be_missing() -> None:
    assert maker().finished([1]) == [1]
    assert maker(transform=lambda batch: batch * 2).finished([1]) == [1, 1]
