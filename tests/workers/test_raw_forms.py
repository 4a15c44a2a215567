"""Rows as they are stored: read once, kept until they have a slot, read again from there."""

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from joader.images import Steps
from joader.memory import Arena
from joader.messages import FromWorker
from joader.recipe.parts import SharedPart
from joader.schedule.work.orders import Row
from joader.wire import Channel
from joader.workers.loop import RawForms
from joader.workers.outbox import Outbox


def overwritten(row: Any) -> Any:
    """Do what a step of the user's may do."""
    row[:] = 99
    return row


class Rows:
    """A dataset that counts how often each row is read."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def __len__(self) -> int:
        return 10

    def __getitem__(self, row: int) -> Any:
        self.reads.append(row)
        return np.full(16, row, np.uint8)


class Worker:
    """A worker's raw forms, and what they read."""

    def __init__(self, channel: Channel[Any]) -> None:
        self.arena, self.rows = Arena(1 << 16), Rows()
        self.forms = RawForms(self.arena, SharedPart(self.rows, Steps(())), Outbox(channel))


@pytest.fixture
def worker() -> Iterator[Worker]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Worker(Channel(ours, FromWorker))


def order(sample: int, **more: Any) -> Row:
    row = Row("r", 1, 1, sample, sample + 3, position=0, times=0, offset=0, size_bytes=64)
    return replace(row, **more)


def test_a_row_is_read_unless_it_was_before(worker: Worker) -> None:
    assert worker.forms.value(order(1), {})[0] == 4
    assert worker.forms.value(order(2), {2: "read with others"}) == "read with others"
    assert worker.rows.reads == [4]


def test_a_row_is_kept_only_if_that_was_asked_for_and_until_it_is_reported(worker: Worker) -> None:
    unplaced: dict[int, Any] = {}
    worker.forms.value(order(1), {})
    assert worker.forms.report(1, unplaced) == ()
    worker.forms.value(order(2, raw=7), {})
    assert worker.forms.report(2, unplaced) == (16,)
    assert list(unplaced) == [7]
    assert worker.forms.report(2, unplaced) == ()
    worker.forms.value(order(3, raw=8), {})
    worker.forms.forget(3)
    assert worker.forms.report(3, unplaced) == ()


def test_what_is_kept_is_read_again_from_its_slot_and_not_from_the_dataset(worker: Worker) -> None:
    unplaced: dict[int, Any] = {}
    worker.forms.value(order(1, raw=7), {})
    worker.forms.report(1, unplaced)
    parcel = unplaced[7]
    parcel.write(worker.arena.slot(128, parcel.layout.size_bytes))
    again = order(5, raw=7, raw_offset=128, raw_layout=parcel.layout.to_bytes())
    assert worker.forms.value(again, {}).tolist() == [4] * 16
    assert worker.rows.reads == [4]


def test_a_step_that_changes_its_row_does_not_change_what_is_kept(worker: Worker) -> None:
    unplaced: dict[int, Any] = {}
    worker.forms._shared.steps = Steps((overwritten,))
    value = worker.forms.value(order(1, raw=7), {})
    worker.forms.report(1, unplaced)
    overwritten(value)
    parcel = unplaced[7]
    room = worker.arena.slot(0, parcel.layout.size_bytes)
    parcel.write(room)
    assert room[:16].tolist() == [4] * 16


def test_a_dataset_that_reads_every_row_into_one_array_does_not_change_what_is_kept(
    worker: Worker,
) -> None:
    room = np.zeros(16, np.uint8)

    class OneArray(Rows):
        def __getitem__(self, row: int) -> Any:
            room[:] = row
            return room

    worker.forms._shared.dataset = OneArray()
    unplaced: dict[int, Any] = {}
    for sample in (1, 2):
        worker.forms.value(order(sample, raw=6 + sample), {})
        worker.forms.report(sample, unplaced)
    slot = worker.arena.slot(0, 16)
    for sample in (1, 2):
        unplaced[6 + sample].write(slot)
        assert slot.tolist() == [sample + 3] * 16
