"""Memory of a worker's own, for rows between their two parts."""

import numpy as np

from joader.memory import pack, read
from joader.workers.scratch import Scratch


def test_what_is_written_is_what_a_slot_would_hold_and_begins_as_a_slot_does() -> None:
    scratch = Scratch()
    assert scratch.room is None
    for size in (10, 1000, 3):  # it grows, and stays
        sample = (np.arange(size, dtype=np.float64), f"row of {size}")
        parcel = pack(sample)
        room = scratch.put(parcel)
        assert room.ctypes.data % 64 == 0
        numbers, text = read(parcel.layout, room)
        assert (numbers == sample[0]).all()
        assert text == sample[1]
    assert scratch.room is not None
    assert scratch.room.size >= 8000


def test_a_sample_that_was_made_there_already_stays_whole_while_it_grows() -> None:
    scratch = Scratch()
    scratch.put(pack(np.zeros(64, np.uint8)))
    image = np.ndarray((8, 8), np.uint8, scratch.room)
    image[:] = 7
    parcel = pack((image, np.ones(500, np.uint8)))
    pixels, ones = read(parcel.layout, scratch.put(parcel))
    assert (pixels == 7).all()
    assert ones.all()
