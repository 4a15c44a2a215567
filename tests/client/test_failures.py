"""What is made of a batch in which rows failed."""

import logging

import numpy as np
import pytest

from joader.client.collating import Slots
from joader.client.failures import MOST_NAMED, Mender, good_places, nearest
from joader.memory import pack, read
from joader.messages import BatchReady, packed


def batch_of(*values: int | None) -> tuple[BatchReady, Slots]:
    """Return a batch of numbers in slots of 64 bytes; those that are None failed."""
    good = [value for value in values if value is not None]
    memory = np.zeros(64 * max(1, len(good)), np.uint8)
    layouts = []
    for place, value in enumerate(good):
        parcel = pack(value)
        parcel.write(memory[64 * place :])
        layouts.append(parcel.layout)
    positions = [100 + place for place in range(len(values))]
    failed = tuple((positions[n], "why") for n, value in enumerate(values) if value is None)
    offsets = 64 * np.arange(len(good))
    batch = BatchReady(
        1, packed(positions), b"", packed(offsets), tuple(range(len(good))), failed=failed
    )
    rows = np.flatnonzero([value is not None for value in values])
    return batch, Slots(layouts, memory, offsets, rows)


def values_of(slots: Slots | None) -> list[int] | None:
    if slots is None:
        return None
    places = zip(slots.layouts, slots.offsets.tolist(), strict=True)
    return [read(layout, slots.memory[offset:]) for layout, offset in places]


def test_places_without_a_sample_are_found() -> None:
    assert good_places(batch_of(7, None, 8, None)[0]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("places", "size", "expected"),
    [
        ([0, 1, 2], 3, [0, 1, 2]),
        ([1], 3, [0, 0, 0]),
        ([0, 3], 4, [0, 0, 1, 1]),
        ([0, 2], 3, [0, 0, 1]),
        ([2, 5], 8, [0, 0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_the_nearest_good_place_is_taken_the_earlier_of_two(
    places: list[int], size: int, expected: list[int]
) -> None:
    assert nearest(np.array(places), size).tolist() == expected


def test_skip_leaves_rows_out_and_batches_without_a_good_row() -> None:
    mender = Mender("skip", equal_steps=False)
    assert values_of(mender.mended(*batch_of(5, None, 6))) == [5, 6]
    assert mender.mended(*batch_of(None, None)) is None
    assert mender.leaves_out


def test_replace_repeats_a_row_of_the_batch_or_of_the_one_before() -> None:
    mender = Mender("replace", equal_steps=False)
    assert mender.mended(*batch_of(None, None)) is None
    assert not mender.leaves_out
    batch, slots = batch_of(None, 6, None, 7)
    assert values_of(mender.mended(batch, slots)) == [6, 6, 6, 7]
    slots.memory[:] = 0  # the slots went back
    assert values_of(mender.mended(*batch_of(None, None))) == [7, 7]


def test_ranks_leave_no_step_out() -> None:
    mender = Mender("skip", equal_steps=True)
    assert values_of(mender.mended(*batch_of(5, None))) == [5]
    assert values_of(mender.mended(*batch_of(None, None, None))) == [5, 5, 5]
    assert not mender.leaves_out


def test_the_log_names_a_few_rows_and_stays_readable(caplog: pytest.LogCaptureFixture) -> None:
    mender = Mender("skip", equal_steps=False)
    with caplog.at_level(logging.WARNING, "joader"):
        for row in range(3 * MOST_NAMED):
            mender.name(row, row, "Traceback …\nValueError: broken")
    assert len(caplog.messages) == MOST_NAMED
    assert "row 0 (position 0)" in caplog.messages[0]
    assert caplog.messages[0].endswith("is left out: ValueError: broken")
    assert "only counted" in caplog.messages[-1]
